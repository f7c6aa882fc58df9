//! Access keys.

use std::fs;

use functions_test_host::{Builder, ConfigError, Keys, Profile};
use serde_json::json;

use crate::support::{App, Seen, client, get};

fn keys() -> Keys {
    serde_json::from_value(json!({
        "master": "master-key",
        "system": {"extension": "system-key"},
        "host": {"default": "host-key"},
        "functions": {"Fn": {"default": "fn-key"}, "other": {"default": "other-key"}},
    }))
    .unwrap()
}

fn app() -> App {
    ["anonymous", "function", "system", "admin", "user"].into_iter().fold(App::new(json!({})), |app, level| {
        app.http(if level == "function" { "fn" } else { level }, &format!("for-{level}"), level)
    })
}

#[tokio::test]
async fn the_level_of_a_key_must_be_the_level_of_the_function() {
    let host = app().start_with(|host| host.profile(Profile::Azure).keys(keys())).await;
    let cases = [
        ("none", "", [200, 401, 401, 401, 401]),
        ("wrong", "nope", [200, 401, 401, 401, 401]),
        ("of another function", "other-key", [200, 401, 401, 401, 401]),
        ("of the function", "fn-key", [200, 200, 401, 401, 401]),
        ("host", "host-key", [200, 200, 401, 401, 401]),
        ("system", "system-key", [200, 401, 200, 401, 401]),
        ("master", "master-key", [200, 200, 200, 200, 200]),
    ];
    let routes = ["anonymous", "function", "system", "admin", "user"];
    for (name, key, expected) in cases {
        for (route, status) in routes.iter().zip(expected) {
            let url = format!("{}/for-{route}", host.base_url());
            let by_header = client().get(&url).header("x-functions-key", key).send().await.unwrap();
            assert_eq!(by_header.status(), status, "{name} key in the header on {route}");
            let by_query = get(format!("{url}?code={key}")).await;
            assert_eq!(by_query.status(), status, "{name} key in the query on {route}");
        }
    }
}

#[tokio::test]
async fn a_refusal_is_empty() {
    let host = app().start_with(|host| host.profile(Profile::Azure).keys(keys())).await;
    let response = get(format!("{}/for-function", host.base_url())).await;
    assert_eq!(response.status(), 401);
    assert!(!response.headers().contains_key("www-authenticate"));
    assert_eq!(response.text().await.unwrap(), "");
}

#[tokio::test]
async fn the_header_decides_even_when_it_is_wrong_or_empty() {
    let host = app().start_with(|host| host.profile(Profile::Azure).keys(keys())).await;
    let url = format!("{}/for-function?code=host-key", host.base_url());
    for (header, status) in [("nope", 401), ("", 401), ("fn-key", 200)] {
        let response = client().get(&url).header("x-functions-key", header).send().await.unwrap();
        assert_eq!(response.status(), status, "{header:?}");
    }
    assert_eq!(get(&url).await.status(), 200);
}

#[tokio::test]
async fn keys_reach_the_handler_untouched() {
    let host = app().start_with(|host| host.profile(Profile::Azure).keys(keys())).await;
    let request =
        client().get(format!("{}/for-function?code=query-key", host.base_url())).header("x-functions-key", "fn-key");
    let seen = Seen::from(request.send().await.unwrap()).await;
    assert_eq!(seen.header("x-functions-key"), "fn-key");
    assert_eq!(seen.text("target"), "/for-function?code=query-key");
}

#[tokio::test]
async fn core_tools_enforce_nothing() {
    let host = app().start_with(|host| host.profile(Profile::CoreTools).keys(keys())).await;
    for route in ["anonymous", "function", "system", "admin", "user"] {
        assert_eq!(get(format!("{}/for-{route}", host.base_url())).await.status(), 200, "{route}");
    }
}

#[tokio::test]
async fn without_keys_nothing_opens_a_function() {
    let host = app().start_with(|host| host.profile(Profile::Azure)).await;
    for query in ["", "?code=", "?code=x"] {
        assert_eq!(get(format!("{}/for-function{query}", host.base_url())).await.status(), 401, "{query}");
    }
}

#[tokio::test]
async fn a_disabled_function_is_there_for_administrators_only() {
    let disabled = |host: Builder| host.profile(Profile::Azure).keys(keys()).env("AzureWebJobs.fn.Disabled", "true");
    let host = app().start_with(disabled).await;
    for (key, status) in [("fn-key", 404), ("master-key", 200)] {
        assert_eq!(get(format!("{}/for-function?code={key}", host.base_url())).await.status(), status, "{key}");
    }
}

#[test]
fn keys_are_read_from_a_file_and_never_shown() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("keys.json");
    fs::write(&file, r#"{"master": "hidden-1", "functions": {"f": {"default": "hidden-2"}}}"#).unwrap();
    let keys = Keys::from_file(&file).unwrap();
    assert_eq!(keys.master.as_deref(), Some("hidden-1"));
    assert!(!format!("{keys:?}").contains("hidden"));
    fs::write(&file, r#"{"masterkey": "typo"}"#).unwrap();
    assert!(matches!(Keys::from_file(&file), Err(ConfigError::Syntax { .. })));
}
