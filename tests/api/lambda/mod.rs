//! The program on AWS Lambda: events of every kind of gateway go in at a stand-in for the runtime, and what would go back
//! to the gateway comes out.

mod events;
mod runtime;

use serde_json::{Value, json};

use crate::client::{params, rpc};
use crate::support::{App, Script, TestRunner, agent};
use events::{Event, Gateway};
use runtime::{Answer, Lambda};

const KEY: &str = "key-of-the-lambda-caller";
const ENDPOINT: &str = "/agents/main/a2a";
const CARD: &str = "/agents/main/.well-known/agent-card.json";

fn post(gateway: Gateway, path: &str) -> Event {
    let event =
        Event::new(gateway, "POST", path).header("content-type", "application/json").header("a2a-version", "1.0");
    event.header("x-functions-key", KEY).body(&rpc("SendMessage", &params(&json!({}))))
}

#[track_caller]
fn assert_answered(answer: &Answer, what: &str) {
    assert_eq!(answer.status(), 200, "{what}: {answer:?}");
    let body = answer.json();
    assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &json!(1)), "{what}");
    let text = body["result"]["message"]["parts"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("You said: \"hi\""), "{what}: {body}");
    assert_eq!(answer.headers("content-type"), ["application/json"], "{what}");
}

#[tokio::test]
async fn c084_the_agent_is_found_behind_every_gateway_with_and_without_stages() {
    let lambda = Lambda::start(&agent("function", ""), KEY).await;
    for gateway in Gateway::ALL {
        for prefix in gateway.prefixes() {
            let path = |own: &str| format!("{prefix}{own}");
            let what = format!("{gateway:?} {prefix:?}");
            assert_answered(&lambda.invoke(&post(gateway, &path(ENDPOINT))).await, &what);
            let card = Event::new(gateway, "GET", &path(CARD)).header("x-functions-key", KEY);
            let card = lambda.invoke(&card).await;
            assert_eq!((card.status(), &card.json()["name"]), (200, &json!("Main")), "{what}");
            let nothing = Event::new(gateway, "GET", &path("/agents/other/a2a")).header("x-functions-key", KEY);
            assert_eq!(lambda.invoke(&nothing).await.status(), 404, "{what}");
        }
    }
}

#[tokio::test]
async fn c084_the_card_has_the_configured_address_with_its_stage() {
    let staged =
        agent("function", "").replace("http://localhost:7071", "https://abc.execute-api.eu-west-1.amazonaws.com/Prod");
    let lambda = Lambda::start(&staged, KEY).await;
    let card = Event::new(Gateway::RestApi, "GET", &format!("/Prod{CARD}")).header("x-functions-key", KEY);
    let card = lambda.invoke(&card).await.json();
    let url = &card["supportedInterfaces"][0]["url"];
    assert_eq!(url, "https://abc.execute-api.eu-west-1.amazonaws.com/Prod/agents/main/a2a");
}

#[tokio::test]
async fn bodies_in_base64_and_queries_arrive() {
    let lambda = Lambda::start(&agent("function", ""), KEY).await;
    for gateway in Gateway::ALL {
        assert_answered(&lambda.invoke(&post(gateway, ENDPOINT).base64()).await, &format!("{gateway:?} base64"));
        let by_query = post(gateway, ENDPOINT).without("x-functions-key").without("a2a-version");
        let by_query = by_query.query("code", KEY).query("A2A-Version", "1.0");
        assert_answered(&lambda.invoke(&by_query).await, &format!("{gateway:?} query"));
    }
}

#[tokio::test]
async fn headers_with_several_values_arrive_whole() {
    let lambda = Lambda::start(&agent("function", ""), KEY).await;
    let extension = "urn:a2a-functions:extension:idempotent-send:v1";
    for gateway in Gateway::ALL {
        let event = post(gateway, ENDPOINT).header("a2a-extensions", "urn:x").header("a2a-extensions", extension);
        let answer = lambda.invoke(&event).await;
        assert_answered(&answer, &format!("{gateway:?}"));
        // The server confirms the one that it knows, so it has seen both.
        assert_eq!(answer.headers("a2a-extensions"), [extension], "{gateway:?}");
    }
}

#[tokio::test]
async fn c085_a_refusal_names_the_scheme_in_the_body_where_gateways_rename_the_header() {
    let lambda = Lambda::start(&agent("function", ""), KEY).await;
    for gateway in Gateway::ALL {
        let answer = lambda.invoke(&post(gateway, ENDPOINT).without("x-functions-key")).await;
        assert_eq!((answer.status(), &answer.json()["error"]["code"]), (401, &json!(-31401)), "{gateway:?}");
        let metadata = &answer.json()["error"]["data"][0]["metadata"];
        assert_eq!(metadata, &json!({ "scheme": "function_key", "header": "x-functions-key" }), "{gateway:?}");
        assert_eq!(answer.headers("www-authenticate").len(), 1, "{gateway:?}");
    }
}

#[tokio::test]
async fn c086_a_signature_of_iam_in_place_of_a_token_is_no_fault() {
    let lambda = Lambda::start(&agent("function", ""), KEY).await;
    let signature = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/lambda/aws4_request, Signature=0";
    let signed = post(Gateway::FunctionUrl, ENDPOINT).header("authorization", signature);
    assert_answered(&lambda.invoke(&signed).await, "with a key");
    assert_eq!(lambda.invoke(&signed.without("x-functions-key")).await.status(), 401);
}

#[tokio::test]
async fn errors_of_a_request_are_answers_and_not_failures_of_the_function() {
    let lambda = Lambda::start(&agent("function", ""), KEY).await;
    for gateway in Gateway::ALL {
        for (event, status, code) in [
            (post(gateway, ENDPOINT).body("{not-json"), 400, -32700),
            (post(gateway, ENDPOINT).body(""), 400, -32700),
            (post(gateway, ENDPOINT).body(&" ".repeat(262_145)), 413, -32600),
            (post(gateway, ENDPOINT).body(&rpc("DoMagic", &json!({}))), 200, -32601),
        ] {
            let answer = lambda.invoke(&event).await;
            assert_eq!((answer.status(), &answer.json()["error"]["code"]), (status, &json!(code)), "{gateway:?}");
        }
    }
}

#[tokio::test]
async fn the_log_has_lambda_s_request_id_and_no_key() {
    let lambda = Lambda::start(&agent("function", ""), KEY).await;
    let event =
        post(Gateway::FunctionUrl, ENDPOINT).query("code", "canary-in-the-query").header("x-amzn-request-id", "forged");
    let answer = lambda.invoke(&event).await;
    let line = lambda.log_of(&answer.request_id).await;
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (&line["agent"], &line["method"], &line["outcome"]),
        (&json!("main"), &json!("SendMessage"), &json!("success"))
    );
    for secret in [KEY, "canary-in-the-query", "forged"] {
        assert!(!lambda.log().contains(secret), "{secret}");
    }
}

#[tokio::test]
async fn c088_a_panic_is_an_answer_under_the_request_s_id_and_the_next_request_works() {
    let runner = TestRunner::new(Script::Panic("words for the log alone"));
    // On Lambda the platform routes by name.
    let app = App::of(&agent("function", "")).host(|host| host.checks_authority = false);
    let server = app.runner(&runner).start().await;
    for gateway in Gateway::ALL {
        runner.act(Script::Panic("words for the log alone"));
        let event = post(gateway, ENDPOINT).header("x-functions-key", crate::support::KEY);
        let (status, body) = answer_in_process(&server.door, &event).await;
        assert_eq!((status, &body["error"]["code"], &body["id"]), (200, &json!(-32603), &json!(1)), "{gateway:?}");
        assert!(!body.to_string().contains("words for the log"), "{body}");
        runner.act(Script::Witness);
        let (status, body) = answer_in_process(&server.door, &event).await;
        assert_eq!((status, &body["result"]["message"]["parts"][0]["text"]), (200, &json!("[\"hi\"]")), "{gateway:?}");
    }
}

async fn answer_in_process(door: &a2a_functions::edge::Door, event: &Event) -> (u16, Value) {
    use http_body_util::BodyExt as _;
    let request = lambda_http::request::from_str(&event.json().to_string()).unwrap();
    let response = a2a_functions::edge::lambda::answer(door, request).await;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap())
}
