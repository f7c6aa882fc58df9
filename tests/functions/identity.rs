//! Who the host lets in, and who the agent takes them for.

use std::fs;
use std::time::Duration;

use functions_test_host::{EasyAuth, Principal, Profile};
use serde_json::json;

use crate::app::{App, FUNCTION_KEY, KEY, MASTER, OTHER_KEY};
use crate::client::Reply;
use crate::issuer::{AUDIENCE, Issuer, Signer, TENANT};

const CARD: &str = "/agents/main/.well-known/agent-card.json";

/// Which turn of its conversation a reply was.
#[track_caller]
fn turn(reply: &Reply) -> usize {
    let said = reply.said();
    let number = said.split("Turn ").nth(1).and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{said}"))
}

#[tokio::test]
async fn c054_levels_are_those_of_the_agents() {
    // Each key: status at an agent's endpoint and at its card.
    for (mode, expected) in [
        ("function", [(KEY, 200, 200), (FUNCTION_KEY, 200, 401), (MASTER, 200, 200), ("wrong", 401, 401)]),
        ("admin", [(KEY, 401, 401), (FUNCTION_KEY, 401, 401), (MASTER, 200, 200), ("wrong", 401, 401)]),
        ("anonymous", [(KEY, 200, 200), (FUNCTION_KEY, 200, 200), (MASTER, 200, 200), ("wrong", 200, 200)]),
    ] {
        let app = App::new(mode).start(|host| host).await;
        for (key, endpoint, card) in expected {
            let call = app.call().set("x-functions-key", key).send(&json!({})).await;
            let read = app.get(CARD).set("x-functions-key", key).nothing().await;
            assert_eq!((call.status, read.status), (endpoint, card), "{mode} {key}");
        }
        let open = if mode == "anonymous" { 200 } else { 401 };
        assert_eq!(app.call_without_key().send(&json!({})).await.status, open, "{mode}");
        assert_eq!(app.get(CARD).without("x-functions-key").nothing().await.status, open, "{mode}");
    }
}

#[tokio::test]
async fn c041_two_keys_of_the_host_are_two_callers_however_they_are_sent() {
    let app = App::new("function").start(|host| host).await;
    let by_header = |key: &str| app.call().set("x-functions-key", key);
    let by_query = |key: &str| app.call_without_key().at(&format!("?code={key}"));
    assert_eq!(turn(&by_header(KEY).say("ctx", "one").await), 1);
    assert_eq!(turn(&by_query(KEY).say("ctx", "two").await), 2);
    assert_eq!(turn(&by_header(OTHER_KEY).say("ctx", "one").await), 1);
    assert_eq!(turn(&by_query(FUNCTION_KEY).say("ctx", "one").await), 1);
    assert_eq!(turn(&by_header(KEY).say("ctx", "three").await), 3);
    for key in [KEY, OTHER_KEY, FUNCTION_KEY] {
        assert!(!app.logs().contains(key), "{key}");
    }
}

#[tokio::test]
async fn developers_need_no_key_under_core_tools() {
    let app = App::new("function").start(|host| host.profile(Profile::CoreTools)).await;
    assert_eq!(turn(&app.call_without_key().say("ctx", "one").await), 1);
    assert_eq!(turn(&app.call_without_key().say("ctx", "two").await), 2);
}

fn principal(id: &str) -> Principal {
    let claims = vec![("http://schemas.microsoft.com/identity/claims/objectidentifier".to_owned(), id.to_owned())];
    Principal { provider: "aad".to_owned(), id: id.to_owned(), name: id.to_owned(), claims }
}

#[tokio::test]
async fn c055_a_forged_principal_is_no_key() {
    let app = App::new("function").start(|host| host).await;
    let forged = app.call_without_key().set("x-ms-client-principal", "eyJhdXRoX3R5cCI6ImFhZCJ9");
    assert_eq!(forged.set("x-ms-client-principal-id", "admin").send(&json!({})).await.status, 401);
}

#[tokio::test]
async fn c055_c056_a_principal_of_the_platform_is_nobody_for_agents_that_ask_for_keys() {
    let easy_auth = EasyAuth {
        default: None,
        by_token: [("t-a".to_owned(), principal("canary-a")), ("t-b".to_owned(), principal("canary-b"))].into(),
    };
    let app = App::new("function").start(|host| host.easy_auth(easy_auth)).await;
    // A token without a key opens nothing; with one, the key is who calls.
    assert_eq!(app.call_without_key().set("authorization", "Bearer t-a").send(&json!({})).await.status, 401);
    assert_eq!(turn(&app.call().set("authorization", "Bearer t-a").say("ctx", "one").await), 1);
    assert_eq!(turn(&app.call().set("authorization", "Bearer t-b").say("ctx", "two").await), 2);
    for canary in ["canary-a", "canary-b", "t-a"] {
        assert!(!app.logs().contains(canary), "{canary}: {}", app.logs());
    }
}

/// `http_auth` for tokens of this issuer's tenant.
fn entra() -> String {
    format!("{{mode: entra, entra: {{tenant_id: {TENANT}, allowed_audiences: ['{AUDIENCE}']}}}}")
}

#[tokio::test]
async fn a_token_opens_an_agent_behind_the_host_and_a_key_does_not() {
    let signer = Signer::ec("k1");
    let issuer = Issuer::start(&[&signer]).await;
    let app = App::new(&entra()).start(|host| host.env("AZURE_AUTHORITY_HOST", issuer.server.uri())).await;
    let with = |oid: &str| {
        let token = signer.sign(&issuer.with(&json!({ "oid": oid })));
        app.call_without_key().set("authorization", &format!("Bearer {token}"))
    };
    assert_eq!(app.call().send(&json!({})).await.status, 401);
    assert_eq!(turn(&with("canary-ann").say("ctx", "one").await), 1);
    assert_eq!(turn(&with("canary-bob").say("ctx", "two").await), 1);
    assert_eq!(turn(&with("canary-ann").say("ctx", "three").await), 2);
    for canary in ["canary-ann", "canary-bob", "eyJ"] {
        assert!(!app.logs().contains(canary), "{canary}: {}", app.logs());
    }
}

#[tokio::test]
async fn c055_the_platform_s_principal_opens_an_agent_where_the_app_relies_on_it() {
    let signer = Signer::ec("k1");
    let issuer = Issuer::start(&[&signer]).await;
    let of = |oid: &str| Principal {
        claims: [("tid", TENANT), ("aud", AUDIENCE), ("oid", oid)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..principal(oid)
    };
    let token = |oid: &str| signer.sign(&issuer.with(&json!({ "oid": oid })));
    let (own, other) = (token("ann"), token("eve"));
    for relied_on in [true, false] {
        let easy_auth = EasyAuth { default: Some(of("ann")), by_token: [(own.clone(), of("ann"))].into() };
        let app = App::new(&entra())
            .start(|host| {
                host.easy_auth(easy_auth)
                    .env("AZURE_AUTHORITY_HOST", issuer.server.uri())
                    .env("AZURE_FUNCTIONS_AGENTS_ENTRA_EASY_AUTH", relied_on.to_string())
            })
            .await;
        let without_token = app.call_without_key();
        let with = |token: &str| app.call_without_key().set("authorization", &format!("Bearer {token}"));
        let expected = if relied_on { 200 } else { 401 };
        assert_eq!(without_token.send(&json!({})).await.status, expected, "relied on: {relied_on}");
        assert_eq!(with(&own).send(&json!({})).await.status, 200);
        // The platform's caller is Ann, the token's is Eve.
        let expected = if relied_on { 401 } else { 200 };
        assert_eq!(with(&other).send(&json!({})).await.status, expected, "relied on: {relied_on}");
    }
}

#[tokio::test]
async fn an_app_whose_functions_ask_for_less_than_its_agents_does_not_start() {
    let app = App::new("function");
    let file = app.path().join("agent_main_a2a_rpc/function.json");
    let weaker = fs::read_to_string(&file).unwrap().replace("\"function\"", "\"anonymous\"");
    fs::write(&file, weaker).unwrap();
    let host = app.host().start().await.unwrap();
    // The host starts it again, and gives up at the third time.
    let stopped = tokio::time::timeout(Duration::from_secs(60), host.wait_stopped(0)).await;
    assert!(stopped.expect("the host gives up").is_some());
    let logs: Vec<_> = host.logs().into_iter().map(|line| line.text).collect();
    assert!(logs.iter().any(|line| line.contains("agent_main_a2a_rpc") && line.contains("functions init")), "{logs:?}");
}
