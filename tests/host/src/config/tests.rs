//! host.json rules: version, profile layer, overrides, typed errors.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

fn load_with(document: &Value, variables: &[(&str, &str)]) -> Result<HostConfig, ConfigError> {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("host.json"), document.to_string()).unwrap();
    let mut environment = Environment::default();
    for (name, value) in variables {
        environment.set(*name, *value);
    }
    HostConfig::load(folder.path(), &environment, None)
}

/// A valid host.json with one more or replaced top-level member.
fn document(member: &str, value: Value) -> Value {
    let mut document = json!({
        "version": "2.0",
        "customHandler": {"description": {"defaultExecutablePath": "handler"}},
    });
    document[member] = value;
    document
}

fn handler(members: &Value) -> Value {
    let mut section = json!({"description": {"defaultExecutablePath": "handler"}});
    section.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    document("customHandler", section)
}

#[test]
fn defaults_are_those_of_the_host() {
    let config = load_with(&handler(&json!({})), &[]).unwrap();
    assert_eq!(config.mode, HttpMode::Envelope);
    assert_eq!(config.port, None);
    assert_eq!(config.initialization_timeout, Duration::from_secs(30));
    assert_eq!(config.function_timeout, Some(Duration::from_mins(30)));
    assert_eq!(config.http.route_prefix, "api");
    assert_eq!(config.http.max_outstanding, None);
    assert_eq!(config.max_dequeue_count, 5);
    assert!(config.description.stderr_is_errors);
}

#[test]
fn the_mode_follows_the_two_flags_with_proxy_first() {
    let cases = [
        (json!({}), HttpMode::Envelope),
        (json!({"enableForwardingHttpRequest": true}), HttpMode::Forward),
        (json!({"enableProxyingHttpRequest": true}), HttpMode::Proxy),
        (json!({"enableForwardingHttpRequest": true, "ENABLEPROXYINGHTTPREQUEST": "True"}), HttpMode::Proxy),
        (json!({"enableProxyingHttpRequest": false}), HttpMode::Envelope),
    ];
    for (members, expected) in cases {
        assert_eq!(load_with(&handler(&members), &[]).unwrap().mode, expected, "{members}");
    }
}

#[test]
fn a_profile_lies_below_host_json_and_its_name_may_come_from_an_app_setting() {
    for name in ["mcp-custom-handler", "Web-App-Custom-Handler"] {
        let config = load_with(&document("configurationProfile", json!(name)), &[]).unwrap();
        assert_eq!(config.mode, HttpMode::Proxy, "{name}");
        assert_eq!(config.http.route_prefix, "", "{name}");
        assert_eq!(config.routes[0].route.as_deref(), Some("{*route}"), "{name}");
        assert_eq!(config.routes[0].level, AuthLevel::Function, "{name}");
    }
    let setting = [("AzureFunctionsJobHost__configurationProfile", "mcp-custom-handler")];
    let explicit = handler(&json!({
        "enableProxyingHttpRequest": false,
        "http": {"defaultAuthorizationLevel": "anonymous", "routes": [{"route": "mine"}, {"route": "more"}]},
    }));
    let config = load_with(&explicit, &setting).unwrap();
    assert_eq!(config.mode, HttpMode::Envelope);
    assert_eq!(config.http.route_prefix, "");
    let routes: Vec<_> = config.routes.iter().map(|entry| entry.route.as_deref().unwrap()).collect();
    assert_eq!(routes, ["mine", "more"]);
    assert_eq!(config.routes[0].level, AuthLevel::Anonymous);
}

#[test]
fn app_settings_override_host_json() {
    let settings = [
        ("AzureFunctionsJobHost__customHandler__enableProxyingHttpRequest", "true"),
        ("azurefunctionsjobhost__functionTimeout", "00:00:05"),
        ("AzureFunctionsJobHost__customHandler__description__arguments", "[\"a\", \"b\"]"),
        ("AzureFunctionsJobHost__extensions__http__routePrefix", ""),
    ];
    let config = load_with(&handler(&json!({})), &settings).unwrap();
    assert_eq!(config.mode, HttpMode::Proxy);
    assert_eq!(config.function_timeout, Some(Duration::from_secs(5)));
    assert_eq!(config.description.arguments, ["a", "b"]);
    assert_eq!(config.http.route_prefix, "");
}

#[test]
fn an_unlimited_function_timeout_is_minus_one() {
    assert_eq!(load_with(&document("functionTimeout", json!("-1")), &[]).unwrap().function_timeout, None);
    assert_eq!(load_with(&document("functionTimeout", json!(-1)), &[]).unwrap().function_timeout, None);
}

#[test]
fn throttles_of_minus_one_are_off() {
    let http = json!({"http": {"maxOutstandingRequests": -1, "maxConcurrentRequests": 3}});
    let config = load_with(&document("extensions", http), &[]).unwrap();
    assert_eq!((config.http.max_outstanding, config.http.max_concurrent), (None, Some(3)));
}

#[test]
fn executables_expand_variables() {
    let document = document("customHandler", json!({"description": {"defaultExecutablePath": "%BIN%/handler"}}));
    assert_eq!(load_with(&document, &[("BIN", "/opt")]).unwrap().description.executable, "/opt/handler");
}

#[test]
fn what_is_wrong_is_named() {
    type Check = fn(&ConfigError) -> bool;
    let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let busy_port = busy.local_addr().unwrap().port();
    let cases: Vec<(Value, Check)> = vec![
        (json!({}), |error| matches!(error, ConfigError::HostJsonVersion { found: None })),
        (json!({"version": "1.0"}), |error| matches!(error, ConfigError::HostJsonVersion { found: Some(_) })),
        (json!({"version": "2.0"}), |error| matches!(error, ConfigError::MissingDescription)),
        (document("customHandler", json!({"description": {"arguments": ["x"]}})), |error| {
            matches!(error, ConfigError::MissingExecutable)
        }),
        (document("customHandler", json!({"description": {"defaultExecutablePath": " "}})), |error| {
            matches!(error, ConfigError::MissingExecutable)
        }),
        (
            document("configurationProfile", json!("nope")),
            |error| matches!(error, ConfigError::UnknownProfile { name } if name == "nope"),
        ),
        (handler(&json!({"port": 0})), |error| matches!(error, ConfigError::PortUnavailable { port: 0, .. })),
        (handler(&json!({"port": busy_port.to_string()})), |error| {
            matches!(error, ConfigError::PortUnavailable { source: Some(_), .. })
        }),
        (handler(&json!({"port": "many"})), |error| {
            matches!(error, ConfigError::InvalidValue { key: "customHandler:port", .. })
        }),
        (handler(&json!({"enableProxyingHttpRequest": "yes"})), |error| {
            matches!(error, ConfigError::InvalidValue { key: "customHandler:enableProxyingHttpRequest", .. })
        }),
        (handler(&json!({"initializationTimeout": "30s"})), |error| {
            matches!(error, ConfigError::InvalidValue { key: "customHandler:initializationTimeout", .. })
        }),
        (handler(&json!({"http": {"defaultAuthorizationLevel": "root"}})), |error| {
            matches!(error, ConfigError::InvalidValue { .. })
        }),
        (document("functionTimeout", json!("00:00:00.5")), |error| {
            matches!(error, ConfigError::InvalidValue { key: "functionTimeout", .. })
        }),
    ];
    for (document, is_expected) in cases {
        let error = load_with(&document, &[]).unwrap_err();
        assert!(is_expected(&error), "{document}: {error:?}");
    }
}

#[test]
fn a_missing_or_broken_host_json_names_the_file() {
    let folder = TempDir::new().unwrap();
    let load = || HostConfig::load(folder.path(), &Environment::default(), None).unwrap_err();
    assert!(matches!(load(), ConfigError::Read { path, .. } if path.ends_with("host.json")));
    fs::write(folder.path().join("host.json"), "{").unwrap();
    assert!(matches!(load(), ConfigError::Syntax { path, .. } if path.ends_with("host.json")));
}
