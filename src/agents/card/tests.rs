//! The card's content: the Python runtime's, in the form that the proto asks for.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::agents::{ContextPolicy, HttpAuth};

fn agent(mode: AuthMode) -> Agent {
    Agent {
        slug: "incident_triage".to_owned(),
        name: "Störfall".to_owned(),
        description: "Sorts incidents.".to_owned(),
        instructions: "secret instructions".to_owned(),
        source_file: "main.agent.md".to_owned(),
        model: None,
        timeout: Duration::from_secs(1),
        max_output_tokens: None,
        http_auth: HttpAuth { mode, entra: None },
        a2a: None,
    }
}

fn endpoint() -> A2aEndpoint {
    A2aEndpoint {
        url: "https://example.com/api/agents/incident_triage/a2a".to_owned(),
        context: ContextPolicy::Principal,
        context_wait: Duration::ZERO,
    }
}

fn built(agent: &Agent) -> ServedCard {
    ServedCard::build(agent, &endpoint(), SystemTime::UNIX_EPOCH).unwrap()
}

fn json_of(mode: AuthMode) -> Value {
    serde_json::from_slice(&built(&agent(mode)).body).unwrap()
}

/// The Python runtime's card of [`agent`] in `function` mode, its texts and version replaced by ours.
fn python_card() -> Value {
    json!({
        "name": "Störfall",
        "description": "Sorts incidents.",
        "supportedInterfaces": [{
            "url": "https://example.com/api/agents/incident_triage/a2a",
            "protocolBinding": "JSONRPC",
            "protocolVersion": "1.0",
            "tenant": "",
        }],
        "version": env!("CARGO_PKG_VERSION"),
        "capabilities": { "streaming": false, "pushNotifications": false, "extendedAgentCard": false, "extensions": [] },
        "securitySchemes": {
            "function_key": {
                "apiKeySecurityScheme": {
                    "description": "A function key or host key of the function app.",
                    "location": "header",
                    "name": "x-functions-key",
                },
            },
        },
        "securityRequirements": [{ "schemes": { "function_key": { "list": [] } } }],
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{
            "id": "incident_triage",
            "name": "Störfall",
            "description": "Sorts incidents.",
            "tags": ["agent"],
            "inputModes": ["text/plain"],
            "outputModes": ["text/plain"],
            "examples": [],
            "securityRequirements": [],
        }],
        "signatures": [],
    })
}

/// Takes out what the proto's JSON leaves out: empty lists and strings.
fn without_empty_members(value: &mut Value) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(without_empty_members),
        Value::Object(members) => {
            members.values_mut().for_each(without_empty_members);
            members.retain(|_, member| member != &json!([]) && member != "");
        }
        _ => {}
    }
}

#[test]
fn c020_the_card_is_the_python_runtime_s_without_empty_members() {
    let mut expected = python_card();
    without_empty_members(&mut expected);
    expected["capabilities"]["extensions"] = json!([{
        "uri": "urn:a2a-functions:extension:idempotent-send:v1",
        "description": "A message that is sent again under the same messageId gets its first answer again.",
    }]);
    assert_eq!(json_of(AuthMode::Function), expected);
}

#[test]
fn c020_no_member_is_null_or_an_empty_placeholder() {
    for mode in [AuthMode::Function, AuthMode::Admin, AuthMode::Entra, AuthMode::Anonymous] {
        let text = String::from_utf8(built(&agent(mode)).body.to_vec()).unwrap();
        for placeholder in ["null", "\"\"", "[]"] {
            assert!(!text.contains(placeholder), "{mode:?}: {text}");
        }
    }
}

#[test]
fn c033_required_members_are_present_in_every_mode() {
    for mode in [AuthMode::Function, AuthMode::Admin, AuthMode::Entra, AuthMode::Anonymous] {
        let card = json_of(mode);
        for member in ["name", "description", "version"] {
            assert!(card[member].as_str().is_some_and(|text| !text.is_empty()), "{mode:?} {member}");
        }
        for member in ["supportedInterfaces", "defaultInputModes", "defaultOutputModes", "skills"] {
            assert!(card[member].as_array().is_some_and(|list| !list.is_empty()), "{mode:?} {member}");
        }
        assert_eq!(card["capabilities"]["streaming"], false);
        for member in ["id", "name", "description", "tags"] {
            assert!(card["skills"][0].get(member).is_some(), "{mode:?} skill {member}");
        }
    }
}

#[test]
fn c033_a_blank_name_or_description_is_an_error_with_file_and_field() {
    for (field, blank) in [
        ("name", Agent { name: " ".to_owned(), ..agent(AuthMode::Function) }),
        ("description", Agent { description: String::new(), ..agent(AuthMode::Function) }),
    ] {
        let error = ServedCard::build(&blank, &endpoint(), SystemTime::UNIX_EPOCH).unwrap_err().to_string();
        assert!(error.contains("main.agent.md") && error.contains(field), "{error}");
    }
}

#[test]
fn c034_c035_schemes_are_wrapped_and_required_by_name() {
    for (mode, name, wrapper, members) in [
        (
            AuthMode::Function,
            "function_key",
            "apiKeySecurityScheme",
            json!({ "location": "header", "name": "x-functions-key" }),
        ),
        (
            AuthMode::Admin,
            "function_key",
            "apiKeySecurityScheme",
            json!({ "location": "header", "name": "x-functions-key" }),
        ),
        (AuthMode::Entra, "entra", "httpAuthSecurityScheme", json!({ "scheme": "Bearer", "bearerFormat": "JWT" })),
    ] {
        let card = json_of(mode);
        let schemes = card["securitySchemes"].as_object().unwrap();
        assert_eq!(schemes.keys().collect::<Vec<_>>(), [name]);
        assert_eq!(schemes[name].as_object().unwrap().keys().collect::<Vec<_>>(), [wrapper]);
        for (member, value) in members.as_object().unwrap() {
            assert_eq!(&schemes[name][wrapper][member], value, "{mode:?}");
        }
        assert_eq!(card["securityRequirements"], json!([{ "schemes": { name: {} } }]));
        assert!(card.get("security").is_none());
    }
}

#[test]
fn c054_only_admin_agents_mention_the_master_key() {
    let mentions = |mode| json_of(mode).to_string().contains("master key");
    assert!(mentions(AuthMode::Admin));
    assert!(!mentions(AuthMode::Function));
}

#[test]
fn anonymous_agents_have_no_schemes_and_no_idempotent_send() {
    let card = json_of(AuthMode::Anonymous);
    for absent in ["securitySchemes", "securityRequirements"] {
        assert!(card.get(absent).is_none(), "{absent}");
    }
    assert!(card["capabilities"].get("extensions").is_none());
}

#[test]
fn c036_the_tag_follows_the_bytes() {
    let card = built(&agent(AuthMode::Function));
    assert_eq!(card, built(&agent(AuthMode::Function)));
    assert!(card.etag.len() == 66 && card.etag.starts_with('"') && card.etag.ends_with('"'));
    let changed = Agent { description: "Sorts incidents!".to_owned(), ..agent(AuthMode::Function) };
    assert_ne!(built(&changed).etag, card.etag);
}

#[test]
fn instructions_stay_off_the_card() {
    assert!(!json_of(AuthMode::Anonymous).to_string().contains("secret instructions"));
}
