//! A turn that is sent again is answered again, and not run again.

use std::sync::Arc;

use a2a_functions::clock::SystemClock;
use a2a_functions::store::sqlite::{SqliteSettings, SqliteStore};
use serde_json::{Value, json};

use crate::client::Reply;
use crate::support::{AGENT, App, OTHER_KEY, Script, TestRunner, agent};

const IDEMPOTENT_SEND: &str = "urn:a2a-functions:extension:idempotent-send:v1";

fn message(id: &str, text: &str) -> Value {
    json!({ "message": { "messageId": id, "parts": [{ "text": text }] } })
}

fn in_context(context: &str, id: &str, text: &str) -> Value {
    json!({ "message": { "messageId": id, "contextId": context, "parts": [{ "text": text }] } })
}

/// Two answers that are one: the same message, id and all.
#[track_caller]
fn assert_same(one: &Reply, two: &Reply) {
    assert_eq!(one.message(), two.message());
}

#[tokio::test]
async fn the_same_message_in_a_context_gets_its_first_answer_again() {
    let server = App::of(AGENT).start().await;
    let first = server.call().send(&in_context("ctx", "m1", "one")).await;
    server.call().send(&in_context("ctx", "m2", "two")).await.message();
    // Written in another way, and asking for the same in another way.
    let again = json!({
        "tenant": "t", "configuration": { "returnImmediately": true },
        "message": { "message_id": "m1", "role": 1, "context_id": "ctx", "parts": [{ "text": "one", "kind": "text" }] },
    });
    for params in [crate::client::params(&in_context("ctx", "m1", "one")), again] {
        assert_same(&first, &server.call().rpc("SendMessage", &params).await);
    }
    assert_eq!(server.runner.runs(), 2);
}

#[tokio::test]
async fn in_a_context_other_content_or_another_id_is_another_turn() {
    let server = App::of(AGENT).start().await;
    for (id, text) in [("m1", "one"), ("m1", "two"), ("m2", "one")] {
        server.call().send(&in_context("ctx", id, text)).await.message();
    }
    let with_metadata = json!({ "message": { "messageId": "m1", "contextId": "ctx", "parts": [{ "text": "one" }], "metadata": { "a": 1 } } });
    server.call().send(&with_metadata).await.message();
    assert_eq!(server.runner.runs(), 4);
}

#[tokio::test]
async fn without_a_context_a_reused_id_opens_a_conversation_each_time() {
    let server = App::of(AGENT).start().await;
    let first = server.call().send(&message("m1", "one")).await;
    let second = server.call().send(&message("m1", "one")).await;
    assert_ne!(first.context_id(), second.context_id());
    assert_eq!(server.runner.runs(), 2);
}

#[tokio::test]
async fn an_idempotency_key_names_one_request() {
    let server = App::of(AGENT).start().await;
    let call = || server.call().set("idempotency-key", "order-7");
    let first = call().send(&message("m1", "one")).await;
    assert_same(&first, &call().send(&message("m1", "one")).await);
    for other in [message("m1", "two"), message("m2", "one")] {
        let reply = call().send(&other).await;
        assert_eq!((reply.status, reply.code()), (200, -32602), "{other}");
    }
    assert_eq!(server.runner.runs(), 1);
    // Another key, and another caller's key of the same name, are other requests.
    let another = server.call().set("idempotency-key", "order-8").send(&message("m1", "one")).await;
    let foreign = call().set("x-functions-key", OTHER_KEY).send(&message("m1", "one")).await;
    assert_eq!(server.runner.runs(), 3);
    assert!(first.context_id() != another.context_id() && first.context_id() != foreign.context_id());
}

#[tokio::test]
async fn a_conversation_opened_under_a_key_goes_on() {
    let server = App::of(AGENT).start().await;
    let call = || server.call().set("idempotency-key", "order-7");
    let first = call().send(&message("m1", "one")).await;
    let context = first.context_id();
    assert_eq!(server.call().send(&in_context(&context, "m2", "two")).await.said(), r#"["one","two"]"#);
    assert_same(&first, &call().send(&message("m1", "one")).await);
}

#[tokio::test]
async fn an_idempotency_key_that_is_none_is_refused() {
    let server = App::of(AGENT).start().await;
    for key in [&b""[..], b"\xff", &[b'k'; 256]] {
        let reply = server.call().add("idempotency-key", key).send(&message("m1", "one")).await;
        assert_eq!(reply.code(), -32602, "{key:?}");
    }
    assert_eq!(server.runner.runs(), 0);
    let longest = server.call().add("idempotency-key", &[b'k'; 255]);
    assert_eq!(longest.send(&message("m1", "one")).await.code(), 0);
}

#[tokio::test]
async fn c135_the_declared_extension_makes_a_message_id_count_and_is_confirmed() {
    let server = App::of(AGENT).start().await;
    let card = server.get("/agents/main/.well-known/agent-card.json").nothing().await.json();
    assert_eq!(card["capabilities"]["extensions"][0]["uri"], IDEMPOTENT_SEND);
    assert!(card["capabilities"]["extensions"][0].get("required").is_none(), "nobody has to declare it");
    let first = server.call().set("a2a-extensions", IDEMPOTENT_SEND).send(&message("m1", "one")).await;
    assert_eq!(first.header("a2a-extensions"), Some(IDEMPOTENT_SEND));
    // In a list, and on a line of its own.
    let in_list = server.call().set("a2a-extensions", &format!("urn:x , {IDEMPOTENT_SEND}"));
    let own_line = server.call().set("a2a-extensions", "urn:x").add("a2a-extensions", IDEMPOTENT_SEND.as_bytes());
    for call in [in_list, own_line] {
        let reply = call.send(&message("m1", "one")).await;
        assert_same(&first, &reply);
        assert_eq!(reply.header("a2a-extensions"), Some(IDEMPOTENT_SEND));
    }
    let reused = server.call().set("a2a-extensions", IDEMPOTENT_SEND).send(&message("m1", "two")).await;
    assert_eq!(reused.code(), -32602);
    assert_eq!(server.runner.runs(), 1);
}

#[tokio::test]
async fn c135_other_extensions_are_ignored_and_not_confirmed() {
    let server = App::of(AGENT).start().await;
    for declared in ["urn:a2a-functions:extension:idempotent-send:v2", "urn:x,, ,urn:y", ""] {
        let reply = server.call().set("a2a-extensions", declared).send(&message("m1", "one")).await;
        assert_eq!((reply.code(), reply.header("a2a-extensions")), (0, None), "{declared}");
    }
    assert_eq!(server.runner.runs(), 3);
}

#[tokio::test]
async fn callers_without_an_identity_get_no_answer_that_was_another_s() {
    let server = App::of(&agent("anonymous", "")).start().await;
    for call in [
        server.call_without_key().set("idempotency-key", "order-7"),
        server.call_without_key().set("a2a-extensions", IDEMPOTENT_SEND),
    ] {
        let first = call.clone().send(&message("m1", "one")).await;
        let second = call.send(&message("m1", "one")).await;
        assert_ne!(first.context_id(), second.context_id());
    }
    assert_eq!(server.runner.runs(), 4);
}

#[tokio::test]
async fn a_host_s_own_repeat_of_a_request_is_recognised_where_the_host_sets_the_id() {
    for (trusted, runs) in [(true, 1), (false, 2)] {
        let server = App::of(AGENT).host(|host| host.sets_invocation_id = trusted).start().await;
        // The host's value comes last, on its own line or joined to what a client wrote; the client's changes nothing.
        for joined in [&["mine", "0d7f"][..], &["another, 0d7f"]] {
            let call = server.call().set("x-ms-invocation-id", joined[0]);
            let call = joined.iter().fold(call, |call, id| call.add("x-azure-functions-invocationid", id.as_bytes()));
            call.send(&message("m1", "one")).await.message();
        }
        assert_eq!(server.runner.runs(), runs, "{trusted}");
    }
}

#[tokio::test]
async fn an_id_of_the_host_s_that_a_client_made_up_is_not_the_host_s() {
    let server = App::of(AGENT).host(|host| host.sets_invocation_id = true).start().await;
    for host in ["0d7f", "0d80"] {
        let call = server.call().set("x-azure-functions-invocationid", "mine").set("x-ms-invocation-id", "mine");
        call.add("x-azure-functions-invocationid", host.as_bytes()).send(&message("m1", "one")).await.message();
    }
    assert_eq!(server.runner.runs(), 2);
}

#[tokio::test]
async fn the_same_request_twice_at_once_runs_once() {
    let (runner, gate) = TestRunner::gated();
    let server = App::of(AGENT).runner(&runner).start().await;
    for (case, call, params) in [
        ("a context", server.call(), in_context("ctx", "m1", "one")),
        ("a key", server.call().set("idempotency-key", "order-7"), message("m1", "one")),
        ("the extension", server.call().set("a2a-extensions", IDEMPOTENT_SEND), message("m1", "one")),
    ] {
        let before = runner.runs();
        let requests: Vec<_> = (0..4)
            .map(|_| {
                let (call, params) = (call.clone(), params.clone());
                tokio::spawn(async move { call.send(&params).await })
            })
            .collect();
        runner.started(before + 1).await;
        // Enough for all of them, should they run.
        gate.add_permits(4);
        let mut replies = Vec::new();
        for request in requests {
            replies.push(request.await.unwrap());
        }
        for reply in &replies {
            assert_same(&replies[0], reply);
        }
        assert_eq!(runner.runs() - before, 1, "{case}");
        gate.forget_permits(usize::MAX);
    }
}

#[tokio::test]
async fn a_caller_that_hung_up_finds_its_answer() {
    let (runner, gate) = TestRunner::gated();
    let server = App::of(AGENT).runner(&runner).start().await;
    let call = server.call();
    let lost = tokio::spawn(async move { call.say("ctx", "one").await });
    runner.started(1).await;
    lost.abort();
    assert!(lost.await.unwrap_err().is_cancelled());
    gate.add_permits(1);
    assert_eq!(server.call().say("ctx", "one").await.said(), r#"["one"]"#);
    assert_eq!(runner.runs(), 1);
}

#[tokio::test]
async fn a_turn_that_failed_is_run_again() {
    let runner = TestRunner::new(Script::Fail("out of luck"));
    let server = App::of(AGENT).runner(&runner).start().await;
    let call = || server.call().set("idempotency-key", "order-7");
    assert_eq!(call().send(&message("m1", "one")).await.code(), -32603);
    runner.act(Script::Witness);
    assert_eq!(call().send(&message("m1", "one")).await.said(), r#"["one"]"#);
}

#[tokio::test]
async fn answers_outlive_the_process_that_gave_them() {
    let folder = tempfile::tempdir().unwrap();
    let app = || {
        let store = SqliteStore::new(SqliteSettings::new(folder.path().join("state.sqlite")), Arc::new(SystemClock));
        App::of(AGENT).store(Arc::new(store))
    };
    let first = app().start().await.call().set("idempotency-key", "order-7").send(&message("m1", "one")).await;
    let server = app().start().await;
    assert_same(&first, &server.call().set("idempotency-key", "order-7").send(&message("m1", "one")).await);
    assert_eq!(server.runner.runs(), 0);
}
