//! The simple profile's checks of a message, and what has no effect on it.

use serde_json::{Value, json};

use crate::support::{AGENT, App, Script, TestRunner};

const IDEMPOTENT_SEND: &str = "urn:a2a-functions:extension:idempotent-send:v1";

fn text(length: usize) -> Value {
    json!({ "text": "x".repeat(length) })
}

fn parts(parts: &Value) -> Value {
    json!({ "message": { "parts": parts } })
}

#[tokio::test]
async fn golden_5_5_a_message_is_checked_as_by_the_python_runtime_with_our_differences() {
    let server = App::of(AGENT).start().await;
    let message = |patch: Value| json!({ "message": patch });
    let configuration = |patch: Value| json!({ "configuration": patch });
    let push = json!({ "taskPushNotificationConfig": { "url": "https://c.example/h" } });
    // Row of the table; change of the good request; the runtime's code; ours where it differs, with the reason.
    for (row, patch, theirs, ours) in [
        ("required", message(json!({ "messageId": "" })), -32602, None),
        ("required", message(json!({ "role": null })), -32602, None),
        ("required", parts(&json!([])), -32602, None),
        ("a", message(json!({ "role": "ROLE_AGENT" })), -32602, None),
        ("b", message(json!({ "taskId": "t" })), -32004, None),
        ("b", message(json!({ "referenceTaskIds": ["t"] })), -32004, None),
        ("c", message(json!({ "extensions": ["urn:x"] })), -32004, None),
        ("c", message(json!({ "extensions": [IDEMPOTENT_SEND] })), -32004, Some((0, "the card declares it"))),
        ("d", parts(&json!(vec![text(1); 17])), -32602, None),
        ("d", parts(&json!(vec![text(1); 16])), 0, None),
        ("e", parts(&json!([{ "url": "https://e.example/x" }])), -32602, Some((-32005, "specification 3.1.1"))),
        ("e", parts(&json!([{ "raw": "AA==" }])), -32602, Some((-32005, "specification 3.1.1"))),
        ("e", parts(&json!([{ "data": {} }])), -32602, Some((-32005, "specification 3.1.1"))),
        ("e", parts(&json!([{ "filename": "x" }])), -32602, None),
        ("f", parts(&json!([text(32_769)])), -32602, None),
        ("f", parts(&json!([text(32_768)])), 0, None),
        ("f", parts(&json!([{ "text": "é".repeat(16_385) }])), -32602, None),
        ("g", parts(&json!([text(0), text(0)])), -32602, None),
        ("h", parts(&json!(vec![text(22_000); 3])), -32602, None),
        ("h", parts(&json!(vec![text(32_768); 2])), 0, None),
        ("i", configuration(push), -32004, Some((-32003, "specification 3.3.2"))),
        ("j", configuration(json!({ "acceptedOutputModes": ["image/png"] })), -32602, None),
        ("j", configuration(json!({ "acceptedOutputModes": ["text/*", "*/*"] })), -32602, None),
        ("j", configuration(json!({ "acceptedOutputModes": ["image/png", "TEXT/Plain"] })), 0, None),
        ("l", parts(&json!([{ "text": " \n" }, { "text": "\t" }])), -32602, None),
    ] {
        let expected = ours.map_or(theirs, |(code, reason)| {
            assert_ne!(code, theirs, "no difference any more: {reason}");
            code
        });
        let before = server.runner.runs();
        let reply = server.call().send(&patch).await;
        assert_eq!((reply.status, reply.code(), reply.id()), (200, expected, json!(1)), "row {row}: {reply:?}");
        assert_eq!(server.runner.runs() - before, usize::from(expected == 0), "row {row}");
    }
}

#[tokio::test]
async fn golden_5_5_the_largest_reply_is_sent_and_a_larger_one_is_not() {
    let runner = TestRunner::new(Script::Reply("x".repeat(262_144)));
    let server = App::of(AGENT).runner(&runner).start().await;
    assert_eq!(server.call().send(&json!({})).await.said().len(), 262_144);
    runner.act(Script::Reply("x".repeat(262_145)));
    let reply = server.call().send(&json!({})).await;
    assert_eq!((reply.status, reply.code(), reply.id()), (200, -32006, json!(1)));
    assert!(!reply.text.contains("xxxx"));
}

#[tokio::test]
async fn golden_5_5_an_empty_reply_is_an_answer() {
    let server = App::of(AGENT).runner(&TestRunner::new(Script::Reply(String::new()))).start().await;
    let reply = server.call().send(&json!({})).await;
    assert_eq!(reply.message()["parts"], json!([{ "text": "" }]));
}

#[tokio::test]
async fn golden_5_5_a_failed_run_tells_the_caller_nothing_of_why() {
    let server = App::of(AGENT).runner(&TestRunner::new(Script::Fail("sk-secret rejected"))).start().await;
    let reply = server.call().send(&json!({})).await;
    assert_eq!((reply.status, reply.code(), reply.id()), (200, -32603, json!(1)));
    assert!(!reply.text.contains("secret"), "{}", reply.text);
}

#[tokio::test]
async fn golden_5_9_case_1_a_reply_is_one_message_whatever_is_said_about_returning() {
    let server = App::of(AGENT).start().await;
    for immediately in [false, true] {
        let patch = json!({
            "message": { "messageId": format!("m-{immediately}"), "contextId": "incident-7" },
            "configuration": { "returnImmediately": immediately, "historyLength": 0, "acceptedOutputModes": ["text/plain"] },
            "metadata": { "a": 1 },
        });
        let reply = server.call().send(&patch).await;
        let message = reply.message();
        let mut members: Vec<_> = message.as_object().unwrap().keys().cloned().collect();
        members.sort();
        assert_eq!(members, ["contextId", "messageId", "parts", "role"]);
        assert_eq!((&message["contextId"], &message["role"]), (&json!("incident-7"), &json!("ROLE_AGENT")));
        assert!(message["messageId"].as_str().is_some_and(|id| id.len() == 32));
        assert_eq!(reply.json()["result"].as_object().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn golden_5_9_case_3_texts_are_joined_by_one_space_and_not_trimmed() {
    let server = App::of(AGENT).start().await;
    server.call().send(&parts(&json!([{ "text": " a" }, { "text": "b\n", "mediaType": "text/html" }]))).await.message();
    assert_eq!(server.runner.prompt(), " a b\n");
}

#[tokio::test]
async fn golden_5_9_cases_4_and_14_sessions_are_named_by_a_hash_of_scope_agent_and_context() {
    let server = App::of(&crate::support::agent("function", "context: shared")).start().await;
    let issued = server.call().send(&json!({})).await.context_id();
    server.call().say("incident-7", "a").await.message();
    server.call().say("../unsafe", "b").await.message();
    let expected = [issued.as_str(), "incident-7", "../unsafe"]
        .map(|context| a2a_functions::context::session_id("functions-app", "main", context));
    assert_eq!(server.runner.sessions(), expected);
    assert_eq!(issued.len(), 32);
}

#[tokio::test]
async fn golden_5_2_the_body_has_a_bound_and_the_bound_is_allowed() {
    let server = App::of(AGENT).start().await;
    let body = |length: usize| {
        let good = crate::client::rpc("SendMessage", &crate::client::params(&json!({})));
        " ".repeat(length - good.len()) + &good
    };
    let reply = server.call().body(body(262_144)).await;
    assert_eq!((reply.status, reply.code()), (200, 0));
    // A declared length and a body in chunks alike.
    let chunks = body(262_145)
        .into_bytes()
        .chunks(60_000)
        .map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec()))
        .collect::<Vec<_>>();
    let chunked = reqwest::Body::wrap_stream(futures::stream::iter(chunks));
    for body in [reqwest::Body::from(body(262_145)), chunked] {
        let reply = server.call().body(body).await;
        assert_eq!((reply.status, reply.code(), reply.id()), (413, -32600, json!(null)));
        assert!(reply.reasons().contains(&"a2a-functions PAYLOAD_TOO_LARGE".to_owned()));
    }
}
