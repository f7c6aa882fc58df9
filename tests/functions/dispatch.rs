//! Requests on their way through the host, in both ways in which it hands plain HTTP on.

use std::time::Duration;

use functions_test_host::{FrontEnd, HttpMode, Profile};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::app::{App, KEY, Running};
use crate::client::{Call, params, rpc};

const CARD: &str = "/agents/main/.well-known/agent-card.json";
const PATIENCE: Duration = Duration::from_secs(60);

#[track_caller]
fn assert_turn(said: &str, turn: usize) {
    assert!(said.contains(&format!("Turn {turn} of this conversation")), "{said}");
}

#[tokio::test]
async fn c073_card_and_endpoint_are_reached_in_every_mode_and_below_every_prefix() {
    for mode in [HttpMode::Proxy, HttpMode::Forward] {
        for app in [App::new("function"), App::with_default_prefix("function")] {
            let app = app.mode(mode).start(|host| host).await;
            assert_eq!(app.host.mode(), mode);
            let card = app.get(CARD).nothing().await;
            assert_eq!(card.status, 200, "{mode:?}: {}", app.logs());
            let url = card.json()["supportedInterfaces"][0]["url"].as_str().unwrap().to_owned();
            assert_eq!(url, app.url("/agents/main/a2a"), "{mode:?}");
            // The address on the card leads to the agent.
            for (turn, text) in [(1, "one"), (2, "two")] {
                let reply = Call::post(&url).set("x-functions-key", KEY).say("ctx", text).await;
                assert_turn(&reply.said(), turn);
            }
        }
    }
}

#[tokio::test]
async fn c076_paths_with_dots_reach_the_handler() {
    for profile in [Profile::Azure, Profile::CoreTools] {
        for app in [App::new("function"), App::with_default_prefix("function")] {
            let app = app.start(|host| host.profile(profile).front_end(FrontEnd::default())).await;
            let card = app.get(CARD).nothing().await;
            assert_eq!((card.status, card.header("content-type")), (200, Some("application/json")), "{profile:?}");
            for path in ["/.well-known/agent-card.json", "/agents/main/a2a/.well-known/agent-card.json"] {
                let other = app.get(path).nothing().await;
                assert_eq!((other.status, &other.text), (200, &card.text), "{profile:?} {path}");
            }
            let fresh = app.get(CARD).set("if-none-match", card.header("etag").unwrap()).nothing().await;
            assert_eq!((fresh.status, fresh.text.as_str()), (304, ""), "{profile:?}");
        }
    }
}

/// Sends a request with these bytes as its body and reads the whole answer.
async fn raw(app: &Running, length: usize, body: &[u8]) -> String {
    let address = app.host.base_url().strip_prefix("http://").unwrap().to_owned();
    let head = format!(
        "POST /agents/main/a2a HTTP/1.1\r\nhost: {address}\r\nx-functions-key: {KEY}\r\na2a-version: 1.0\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    let mut stream = TcpStream::connect(&address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    let body = body.to_vec();
    // The answer may come before all of the body was taken. The writer comes back so that its side stays open, as that of a
    // client that announced more than it sends.
    let sending = tokio::spawn(async move { (writer.write_all(&body).await, writer) });
    let mut answer = Vec::new();
    let _ = timeout(PATIENCE, reader.read_to_end(&mut answer)).await.expect("an answer in time");
    sending.abort();
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn c078_a_body_that_is_too_large_gets_a_refusal_that_names_the_bound() {
    let app = App::new("function").start(|host| host).await;
    let part = json!({ "message": { "parts": [{ "raw": "A".repeat(30_000_000) }] } });
    let large = rpc("SendMessage", &params(&part));
    for (length, body) in [(large.len(), large.as_bytes()), (40_000_000, b"{".as_slice())] {
        let answer = raw(&app, length, body).await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}\n{}", app.logs());
        assert!(answer.contains("262144 bytes at most"), "{answer}");
    }
    assert_turn(&app.call().say("ctx", "next").await.said(), 1);
}

#[tokio::test]
async fn c078_a_body_within_the_bound_arrives_whole_in_every_mode() {
    for mode in [HttpMode::Proxy, HttpMode::Forward] {
        let app = App::new("function").mode(mode).start(|host| host).await;
        let good = rpc("SendMessage", &params(&json!({})));
        let reply = app.call().body(" ".repeat(262_144 - good.len()) + &good).await;
        assert_turn(&reply.said(), 1);
        let reply = app.call().body(" ".repeat(262_145)).await;
        assert_eq!((reply.status, reply.code()), (413, -32600), "{mode:?}");
    }
}

#[tokio::test]
async fn c079_trace_headers_of_any_shape_harm_nobody_and_decide_nothing() {
    let valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for mode in [HttpMode::Proxy, HttpMode::Forward] {
        let app = App::new("function").mode(mode).start(|host| host).await;
        let call = || app.call().set("tracestate", "a=1");
        for call in [
            call().set("traceparent", valid),
            call().set("traceparent", valid),
            call().set("traceparent", "00-not-a-trace"),
            call().set("traceparent", valid).add("traceparent", valid.as_bytes()),
        ] {
            // The same message under the same trace is still a conversation of its own.
            assert_turn(&call.send(&json!({})).await.said(), 1);
        }
    }
}

#[tokio::test]
async fn a_client_cannot_set_the_host_s_id_of_a_request() {
    for mode in [HttpMode::Proxy, HttpMode::Forward] {
        let app = App::new("function").mode(mode).start(|host| host).await;
        let id = "11111111-1111-1111-1111-111111111111";
        let call = || app.call().set("x-ms-invocation-id", id).set("x-azure-functions-invocationid", id);
        let (first, second) = (call().send(&json!({})).await, call().send(&json!({})).await);
        assert_ne!(first.context_id(), second.context_id(), "{mode:?}");
    }
}

#[tokio::test]
async fn refusals_of_the_protocol_pass_the_host_unchanged() {
    for mode in [HttpMode::Proxy, HttpMode::Forward] {
        let app = App::new("function").mode(mode).start(|host| host).await;
        let json_rpc = |body: &'static str| app.call().body(body);
        for (reply, status, code) in [
            (json_rpc("{not-json").await, 400, -32700),
            (json_rpc("[]").await, 200, -32600),
            (app.call().set("content-type", "text/plain").body("hi").await, 415, -32005),
            (app.call().set("a2a-version", "0.3").send(&json!({})).await, 200, -32009),
        ] {
            assert_eq!((reply.status, reply.code()), (status, code), "{mode:?}");
        }
        let wrong_verb = app.get("/agents/main/a2a").nothing().await;
        assert_eq!((wrong_verb.status, wrong_verb.header("allow")), (405, Some("POST")), "{mode:?}");
    }
}

#[tokio::test]
async fn c138_the_forwarded_name_decides_and_foreign_pages_are_turned_away() {
    let app = App::new("anonymous").start(|host| host).await;
    let call = |name: &'static str, value: &str| app.call_without_key().set(name, value);
    assert_eq!(call("origin", "https://evil.example").send(&json!({})).await.status, 403);
    assert_eq!(call("host", "evil.example").send(&json!({})).await.status, 421);
    assert_turn(&app.call_without_key().send(&json!({})).await.said(), 1);
}
