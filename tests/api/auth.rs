//! Who gets in, and as whom.

use http::Method;
use serde_json::json;

use crate::client::{Call, Reply, params, rpc};
use crate::support::{AGENT, App, KEY, MASTER, OTHER_KEY, Server, agent, witnessed};

const CARD: &str = "/agents/main/.well-known/agent-card.json";

/// A refusal that tells a client what to bring, in the header and, as gateways rename it, in the body.
#[track_caller]
fn assert_refused(reply: &Reply) {
    assert_eq!((reply.status, reply.code(), reply.id()), (401, -31401, json!(null)), "{reply:?}");
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let challenge = reply.header("www-authenticate").unwrap();
    assert!(challenge.starts_with("ApiKey ") && challenge.contains("x-functions-key"), "{challenge}");
    let info = &reply.details("google.rpc.ErrorInfo")[0];
    assert_eq!(info["metadata"], json!({ "scheme": "function_key", "header": "x-functions-key" }));
}

#[tokio::test]
async fn c085_card_and_endpoint_are_closed_without_a_right_key_and_the_body_says_how_to_open_them() {
    let server = App::of(AGENT).start().await;
    let (endpoint, card) = (server.call_without_key(), server.get(CARD).without("x-functions-key"));
    for call in [
        endpoint.clone(),
        endpoint.clone().set("x-functions-key", ""),
        endpoint.clone().set("x-functions-key", "not-one-of-the-keys"),
        endpoint.clone().at("?code=not-one-of-the-keys"),
        endpoint.clone().add("x-functions-key", b"\xff\xfe"),
        endpoint.clone().set("x-functions-key", &"x".repeat(2_000)),
        // The header wins over the query, as the Functions host has it.
        endpoint.clone().set("x-functions-key", "not-one-of-the-keys").at(&format!("?code={KEY}")),
    ] {
        assert_refused(&call.send(&json!({})).await);
    }
    assert_refused(&card.nothing().await);
    assert_eq!(server.runner.runs(), 0);
}

#[tokio::test]
async fn a_key_opens_by_header_or_by_query() {
    let server = App::of(AGENT).start().await;
    let endpoint = server.call_without_key();
    for call in [
        endpoint.clone().set("x-functions-key", KEY),
        endpoint.clone().set("x-functions-key", OTHER_KEY),
        endpoint.clone().set("x-functions-key", MASTER),
        endpoint.at(&format!("?code={KEY}")),
    ] {
        assert_eq!(call.send(&json!({})).await.code(), 0);
    }
}

#[tokio::test]
async fn a_caller_is_judged_before_its_body_is_read() {
    let server = App::of(AGENT).start().await;
    for body in ["{not-json".to_owned(), " ".repeat(300_000), rpc("DoMagic", &json!({}))] {
        assert_refused(&server.call_without_key().set("content-type", "text/plain").body(body).await);
    }
}

#[tokio::test]
async fn c054_an_admin_agent_opens_for_the_master_key_alone() {
    let server = App::of(&agent("admin", "")).start().await;
    assert_refused(&server.call().send(&json!({})).await);
    assert_refused(&server.get(CARD).nothing().await);
    assert_eq!(server.call().set("x-functions-key", MASTER).send(&json!({})).await.code(), 0);
    let card = server.get(CARD).set("x-functions-key", MASTER).nothing().await;
    assert_eq!(card.json()["securitySchemes"]["function_key"]["apiKeySecurityScheme"]["name"], "x-functions-key");
    assert!(card.text.contains("master key"));
    let function_card = App::of(AGENT).start().await.get(CARD).nothing().await;
    assert!(!function_card.text.contains("master"), "{}", function_card.text);
}

/// Principals in every shape that platforms and attackers send: `{"auth_typ":"aad","claims":[…]}` and worse.
const PRINCIPALS: [&[u8]; 7] = [
    b"eyJhdXRoX3R5cCI6ImFhZCIsImNsYWltcyI6W3sidHlwIjoib2lkIiwidmFsIjoiYSJ9XX0=",
    b"eyJpZGVudGl0eVByb3ZpZGVyIjoiYWFkIiwidXNlcklkIjoidSIsInVzZXJSb2xlcyI6WyJhdXRoZW50aWNhdGVkIl19",
    b"not base64",
    b"W10=",
    b"//79",
    b"\xff\xfe",
    b"",
];

/// A call with a forged principal, and again with it twice.
fn with_principal(call: &Call, principal: &[u8]) -> [Call; 2] {
    let once = call.clone().add("x-ms-client-principal", principal).set("x-ms-client-principal-id", "someone");
    [once.clone(), once.add("x-ms-client-principal", principal)]
}

async fn assert_no_way_in(server: &Server) {
    let large = b"A".repeat(20_000);
    for principal in PRINCIPALS.into_iter().chain([large.as_slice()]) {
        let calls = with_principal(&server.call_without_key(), principal);
        for call in calls {
            assert_refused(&call.send(&json!({})).await);
        }
    }
    assert_eq!(server.runner.runs(), 0);
}

#[tokio::test]
async fn c055_c056_a_principal_in_a_header_opens_nothing() {
    assert_no_way_in(&App::of(AGENT).start().await).await;
    assert_no_way_in(&App::of(&agent("admin", "")).start().await).await;
    // Nor where the platform says that it authenticates callers.
    assert_no_way_in(&App::of(AGENT).variable("WEBSITE_AUTH_ENABLED", "True").start().await).await;
}

#[tokio::test]
async fn c055_c056_a_principal_in_a_header_changes_nobody_s_identity() {
    let server = App::of(AGENT).start().await;
    server.call().say("ctx", "one").await.message();
    for principal in PRINCIPALS {
        let [call, _] = with_principal(&server.call(), principal);
        // The same message again: still the same caller, who gets the first answer.
        assert_eq!(call.say("ctx", "one").await.said(), r#"["one"]"#);
    }
    let anonymous = App::of(&agent("anonymous", "context: shared")).start().await;
    anonymous.call_without_key().say("ctx", "one").await.message();
    let [call, _] = with_principal(&anonymous.call_without_key(), PRINCIPALS[0]);
    assert_eq!(witnessed(&call.say("ctx", "two").await.said()), ["one", "two"]);
}

#[tokio::test]
async fn c086_a_signature_of_iam_is_neither_a_key_nor_a_fault() {
    let server = App::of(AGENT).start().await;
    let signature = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/lambda/aws4_request, Signature=0";
    assert_refused(&server.call_without_key().set("authorization", signature).send(&json!({})).await);
    assert_eq!(server.call().set("authorization", signature).send(&json!({})).await.code(), 0);
}

#[tokio::test]
async fn a_host_that_checks_keys_is_believed_and_its_callers_are_told_apart() {
    let server = App::of(AGENT).host(|host| host.checks_keys = true).start().await;
    let with = |key: &str| server.call_without_key().set("x-functions-key", key);
    with("host key one").say("ctx", "one").await.message();
    assert_eq!(witnessed(&with("host key two").say("ctx", "two").await.said()), ["two"]);
    assert_eq!(witnessed(&with("host key one").say("ctx", "three").await.said()), ["one", "three"]);
    // A request without a key never passed such a host's check.
    assert_refused(&server.call_without_key().send(&json!({})).await);
}

#[tokio::test]
async fn every_verb_of_the_card_asks_for_the_key() {
    let server = App::of(AGENT).start().await;
    for verb in [Method::GET, Method::HEAD] {
        assert_eq!(server.get(CARD).without("x-functions-key").method(verb).nothing().await.status, 401);
    }
    let stale = server.get(CARD).without("x-functions-key").set("if-none-match", "*");
    assert_eq!(stale.nothing().await.status, 401);
    assert_eq!(server.call().body(rpc("SendMessage", &params(&json!({})))).await.code(), 0);
}
