//! What Azure puts before the host: App Service Authentication and the front end.

use std::time::{Duration, Instant};

use base64::{Engine, engine::general_purpose::STANDARD};
use functions_test_host::{EasyAuth, FrontEnd, Principal, Profile};
use serde_json::{Value, json};

use crate::support::{App, Seen, behave, catch_all, client, get, raw, seen_envelope, seen_target};

fn principal(name: &str) -> Principal {
    Principal {
        provider: "aad".to_owned(),
        id: format!("id-of-{name}"),
        name: name.to_owned(),
        claims: vec![("scp".to_owned(), "A2A.Call".to_owned())],
    }
}

fn easy_auth(default: Option<Principal>) -> EasyAuth {
    EasyAuth { default, by_token: [("token-of-ann".to_owned(), principal("ann"))].into() }
}

/// A request that claims to come from somebody else.
fn forged(url: &str) -> reqwest::RequestBuilder {
    client()
        .get(url)
        .header("x-ms-client-principal", "forged")
        .header("x-ms-client-principal-id", "forged")
        .header("x-ms-client-principal-name", "forged")
        .header("x-ms-client-principal-idp", "forged")
        .header("x-ms-token-aad-access-token", "forged")
}

const OWNED: [&str; 5] = [
    "x-ms-client-principal",
    "x-ms-client-principal-id",
    "x-ms-client-principal-name",
    "x-ms-client-principal-idp",
    "x-ms-token-aad-access-token",
];

#[tokio::test]
async fn without_easy_auth_forged_identities_pass() {
    for profile in [Profile::CoreTools, Profile::Azure] {
        let host = catch_all().start_with(|host| host.profile(profile)).await;
        let seen = Seen::from(forged(host.base_url()).send().await.unwrap()).await;
        for name in OWNED {
            assert_eq!(seen.header(name), "forged", "{profile:?} {name}");
        }
        assert_eq!(seen.variable("WEBSITE_AUTH_ENABLED"), "");
    }
}

#[tokio::test]
async fn easy_auth_removes_forged_identities_and_sets_its_own() {
    let host = catch_all().start_with(|host| host.easy_auth(easy_auth(None))).await;
    let seen = Seen::from(forged(host.base_url()).send().await.unwrap()).await;
    for name in OWNED {
        assert!(seen.headers(name).is_empty(), "{name}");
    }
    assert_eq!(seen.variable("WEBSITE_AUTH_ENABLED"), "True");

    let seen = Seen::from(forged(host.base_url()).bearer_auth("token-of-ann").send().await.unwrap()).await;
    assert_eq!(seen.header("x-ms-client-principal-id"), "id-of-ann");
    assert_eq!(seen.header("x-ms-client-principal-name"), "ann");
    assert_eq!(seen.header("x-ms-client-principal-idp"), "aad");
    assert_eq!(seen.header("authorization"), "Bearer token-of-ann", "the bearer token stays");
    assert!(seen.headers("x-ms-token-aad-access-token").is_empty());
    let document: Value =
        serde_json::from_slice(&STANDARD.decode(seen.header("x-ms-client-principal")).unwrap()).unwrap();
    assert_eq!(document["auth_typ"], "aad");
    assert_eq!(document["claims"], json!([{"typ": "scp", "val": "A2A.Call"}]));
    assert!(document["name_typ"].is_string() && document["role_typ"].is_string());
}

#[tokio::test]
async fn a_caller_without_a_known_token_may_have_a_default_identity() {
    let host = catch_all().start_with(|host| host.easy_auth(easy_auth(Some(principal("bob"))))).await;
    for (token, name) in [("unknown", "bob"), ("token-of-ann", "ann")] {
        let seen = Seen::from(client().get(host.base_url()).bearer_auth(token).send().await.unwrap()).await;
        assert_eq!(seen.header("x-ms-client-principal-name"), name);
    }
}

#[tokio::test]
async fn identities_of_an_envelope_hold_the_principal_only_when_easy_auth_is_on() {
    let principal_header =
        STANDARD.encode(json!({"auth_typ": "aad", "claims": [{"typ": "a", "val": "b"}]}).to_string());
    for (enabled, expected) in [("true", true), ("false", false)] {
        let app = App::envelope().http("f", "f", "anonymous");
        let host = app.start_with(|host| host.profile(Profile::Azure).env("WEBSITE_AUTH_ENABLED", enabled)).await;
        let request = client().get(format!("{}/api/f", host.base_url()));
        let seen =
            seen_envelope(request.header("x-ms-client-principal", &principal_header).send().await.unwrap()).await;
        let types: Vec<&Value> = seen["envelope"]["Data"]["req"]["Identities"]
            .as_array()
            .unwrap()
            .iter()
            .map(|identity| &identity["AuthenticationType"])
            .collect();
        assert_eq!(types == ["aad"], expected, "{types:?}");
    }
}

#[tokio::test]
async fn the_front_end_adds_its_headers_and_the_public_address() {
    let front_end = FrontEnd { client: [198, 51, 100, 9].into(), ..FrontEnd::default() };
    let host = catch_all().start_with(|host| host.front_end(front_end)).await;
    let request = client()
        .get(format!("{}/a?b", host.base_url()))
        .header("host", "agents.example")
        .header("x-forwarded-for", "192.0.2.1")
        .header("client-ip", "forged");
    let seen = Seen::from(request.send().await.unwrap()).await;
    assert_eq!(seen.header("x-forwarded-host"), "agents.example");
    assert_eq!(seen.header("x-forwarded-proto"), "https");
    assert_eq!(seen.header("x-forwarded-for"), "127.0.0.1", "the proxy names who connected to it");
    assert_eq!(seen.header("client-ip"), "198.51.100.9:49152");
    assert_eq!(seen.header("disguised-host"), "agents.example");
    assert_eq!(seen.header("was-default-hostname"), FrontEnd::default().default_host);
    assert_eq!(seen.header("x-original-url"), "/a?b");
    assert_eq!(seen.header("max-forwards"), "10");
    assert_eq!(seen.header("x-arr-log-id").len(), 36);
}

#[tokio::test]
async fn the_front_end_decodes_slashes_which_the_host_alone_does_not() {
    let host = catch_all().start_with(|host| host.front_end(FrontEnd::default())).await;
    let seen = seen_target(host.base_url(), "/tasks/a%2Fb%2fc?x=%2F").await;
    assert_eq!(seen.text("target"), "/tasks/a/b/c?x=%2F");
    assert_eq!(seen.header("x-waws-unencoded-url"), "/tasks/a%2Fb%2fc?x=%2F");
    let kept = FrontEnd { decode_slashes: false, ..FrontEnd::default() };
    let host = catch_all().start_with(|host| host.front_end(kept)).await;
    assert_eq!(seen_target(host.base_url(), "/a%2Fb").await.text("target"), "/a%252Fb");
}

#[tokio::test]
async fn the_front_end_cuts_what_stays_silent() {
    let idle_cut = Duration::from_secs(1);
    let host = catch_all().start_with(|host| host.front_end(FrontEnd { idle_cut, ..FrontEnd::default() })).await;
    let start = Instant::now();
    let mut response = behave(host.base_url(), "quiet").send().await.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "one\n");
    assert!(response.chunk().await.is_err());
    assert!(start.elapsed() >= idle_cut);
    let answer = raw(host.base_url(), "GET / HTTP/1.1\r\nhost: t\r\nx-behave: hang\r\n\r\n").await;
    assert_eq!(answer, "", "closed without an answer");
    assert_eq!(get(host.base_url()).await.status(), 200);
}
