//! Who may call, who may continue a conversation, and the address on the card.

use std::time::Duration;

use super::*;
use crate::agents::{AuthMode, ContextPolicy};
use crate::config::render;

fn with_auth(app: &str, own: &str) -> Loaded {
    let lines = format!("builtin_endpoints: {{a2a: {{url: https://example.com/agents/one/a2a}}{own}}}");
    load_files(&[("agents.config.yaml", app), ("one.agent.md", &agent(&lines))], Environment::default())
}

#[test]
fn auth_of_the_agent_wins_over_that_of_the_app() {
    let cases = [
        ("", "", AuthMode::Function),
        ("http_auth: admin", "", AuthMode::Admin),
        ("http_auth: {mode: admin}", "", AuthMode::Admin),
        ("http_auth: null", "", AuthMode::Function),
        ("http_auth: admin", ", http_auth: function", AuthMode::Function),
        ("http_auth: admin", ", http_auth: null", AuthMode::Function),
        ("http_auth: anonymous", ", http_auth: {}", AuthMode::Function),
        ("http_auth: anonymous", ", http_auth: {mode: admin}", AuthMode::Admin),
        ("", ", http_auth: anonymous", AuthMode::Anonymous),
    ];
    for (app, own, expected) in cases {
        let loaded = with_auth(app, own);
        assert_eq!(only(&loaded).http_auth.mode, expected, "{app} / {own}");
        assert_eq!(found(&loaded), [], "{app} / {own}");
    }
}

#[test]
fn c100_an_anonymous_agent_in_a_closed_app_is_served_with_a_warning() {
    for app in ["entra", "function", "{mode: admin}"] {
        let loaded = with_auth(&format!("http_auth: {app}"), ", http_auth: anonymous");
        assert_eq!(only(&loaded).http_auth.mode, AuthMode::Anonymous);
        assert_eq!(found(&loaded), [(Severity::Warning, Code::AuthWeakened)], "{app}");
    }
}

#[test]
fn entra_settings_are_read_and_ignored_with_other_modes() {
    let own = ", http_auth: {mode: function, entra: {tenant_id: t, allowed_audiences: [a]}}";
    let auth = only(&with_auth("", own)).http_auth.clone();
    assert_eq!(auth.mode, AuthMode::Function);
    let entra = auth.entra.unwrap();
    assert_eq!((entra.tenant_id.as_deref(), entra.allowed_audiences.as_slice()), (Some("t"), &["a".to_owned()][..]));
    assert!(entra.allowed_client_ids.is_empty());
}

#[test]
fn entra_on_an_a2a_endpoint_needs_a_tenant_and_an_audience() {
    const TENANT: &str = "ab1f708d-50f6-404c-a006-d71b2ac7a606";
    let settings = |entra: &str| format!(", http_auth: {{mode: entra, entra: {{{entra}}}}}");
    for own in [
        ", http_auth: entra".to_owned(),
        ", http_auth: {mode: entra}".to_owned(),
        settings("allowed_audiences: [a]"),
        settings(&format!("tenant_id: {TENANT}")),
        settings(&format!("tenant_id: {TENANT}, allowed_audiences: []")),
        settings(&format!("tenant_id: {TENANT}, allowed_audiences: [' ']")),
        settings("tenant_id: common, allowed_audiences: [a]"),
        settings(&format!("tenant_id: '{TENANT}/', allowed_audiences: [a]")),
    ] {
        assert_eq!(found(&with_auth("", &own)), [(Severity::Error, Code::EntraIncomplete)], "{own}");
    }
    assert_eq!(found(&with_auth("http_auth: entra", "")), [(Severity::Error, Code::EntraIncomplete)]);
    let complete = with_auth("", &settings(&format!("tenant_id: {TENANT}, allowed_audiences: [a]")));
    assert_eq!(found(&complete), []);
    let classic = load_with("builtin_endpoints: {chat_api: true, http_auth: entra}");
    assert_eq!(found(&classic), [(Severity::Warning, Code::NothingServed)]);
}

#[test]
fn roles_and_scopes_are_our_own_settings_of_entra() {
    let own = ", http_auth: {mode: function, entra: {required_roles: [r], required_scopes: [s]}}";
    let loaded = with_auth("", own);
    let entra = only(&loaded).http_auth.entra.clone().unwrap();
    assert_eq!((entra.required_roles, entra.required_scopes), (vec!["r".to_owned()], vec!["s".to_owned()]));
    let notes = loaded.diagnostics.iter().filter(|finding| finding.code == Code::OwnField);
    let fields: Vec<_> = notes.map(|finding| finding.field.clone().unwrap()).collect();
    let path = "builtin_endpoints.http_auth.entra";
    assert_eq!(fields, [format!("{path}.required_roles"), format!("{path}.required_scopes")]);
}

#[test]
fn the_context_policy_follows_from_the_auth_mode_unless_written() {
    let cases = [
        ("function", "", ContextPolicy::Principal),
        ("admin", "", ContextPolicy::Principal),
        ("anonymous", "", ContextPolicy::Capability),
        ("function", "context: capability, ", ContextPolicy::Capability),
        ("function", "context: principal, ", ContextPolicy::Principal),
    ];
    for (auth, context, expected) in cases {
        let lines = format!(
            "builtin_endpoints: {{a2a: {{{context}url: https://example.com/agents/one/a2a}}, http_auth: {auth}}}"
        );
        let loaded = load_with(&lines);
        assert_eq!(only(&loaded).a2a.as_ref().unwrap().context, expected, "{auth} / {context}");
        assert_eq!(found(&loaded), []);
    }
}

#[test]
fn conversations_open_to_other_callers_give_a_warning() {
    for (auth, context) in [("function", "shared"), ("anonymous", "shared"), ("anonymous", "principal")] {
        let lines = format!(
            "builtin_endpoints: {{a2a: {{context: {context}, url: https://example.com/agents/one/a2a}}, http_auth: {auth}}}"
        );
        assert_eq!(found(&load_with(&lines)), [(Severity::Warning, Code::ContextShared)], "{auth} / {context}");
    }
}

#[test]
fn the_wait_for_a_conversation_is_bounded() {
    let cases = [("0", Some(0.0)), ("0.5", Some(0.5)), ("600", Some(600.0)), ("601", None), ("-1", None)];
    for (wait, expected) in cases {
        let text = agent_with_a2a(&format!("context_wait: {wait}"));
        let loaded = load_files(&[("one.agent.md", &text)], Environment::default());
        match expected {
            Some(seconds) => {
                let wait = only(&loaded).a2a.as_ref().unwrap().context_wait;
                assert_eq!(wait, Duration::from_secs_f64(seconds));
            }
            None => assert_eq!(found(&loaded), [(Severity::Error, Code::OutOfRange)], "{wait}"),
        }
    }
    let default = only(&load_with("")).a2a.as_ref().unwrap().context_wait;
    assert_eq!(default, Duration::from_secs(10));
}

#[test]
fn our_own_fields_are_noted_each() {
    let text = agent_with_a2a("context: capability, context_wait: 1");
    let loaded = load_files(&[("one.agent.md", &text)], Environment::default());
    let notes: Vec<_> = loaded
        .diagnostics
        .iter()
        .filter(|finding| finding.code == Code::OwnField)
        .map(|finding| finding.field.clone().unwrap())
        .collect();
    assert_eq!(notes, ["builtin_endpoints.a2a.context", "builtin_endpoints.a2a.context_wait"]);
}

#[test]
fn an_address_that_breaks_a_rule_stops_the_app_and_a_secret_in_it_is_not_repeated() {
    let loaded = load_with("builtin_endpoints: {a2a: {url: 'https://example.com/agents/one/a2a?code=s3cret'}}");
    let finding = finding(&loaded, Code::UrlInvalid);
    assert_eq!(finding.severity, Severity::Error);
    assert_eq!(finding.position().unwrap().line, 4);
    assert!(!render(finding, false).contains("s3cret"));
}

#[test]
fn an_address_with_another_path_than_the_route_is_a_warning() {
    let url = |url: &str| agent(&format!("builtin_endpoints: {{a2a: {{url: '{url}'}}}}"));
    let host = r#"{"extensions": {"http": {"routePrefix": "api"}}}"#;
    let cases = [
        ("https://example.com/api/agents/one/a2a", true),
        ("https://example.com/api/agents/one/a2a/", true),
        ("https://example.com/agents/one/a2a", false),
        ("https://example.com/api/agents/One/a2a", false),
        ("https://gateway.example.com/ops", false),
    ];
    for (address, same) in cases {
        let loaded = load_files(&[("host.json", host), ("one.agent.md", &url(address))], Environment::default());
        let expected = if same { vec![] } else { vec![(Severity::Warning, Code::UrlPathDiffers)] };
        assert_eq!(found(&loaded), expected, "{address}");
        assert_eq!(only(&loaded).a2a.as_ref().unwrap().url, address, "published as it stands");
    }
}

#[test]
fn routes_begin_with_the_prefix() {
    let host = r#"{"extensions": {"http": {"routePrefix": "/v1/"}}}"#;
    let loaded = load_files(&[("host.json", host), ("one.agent.md", &agent(""))], Environment::default());
    let catalog = loaded.catalog.unwrap();
    assert_eq!(catalog.a2a_route(&catalog.agents[0]), "/v1/agents/one/a2a");
    assert_eq!(catalog.card_route(&catalog.agents[0]), "/v1/agents/one/.well-known/agent-card.json");
}
