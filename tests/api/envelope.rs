//! What a body must be before anything in it is looked at: JSON, one JSON-RPC request, a known method.

use serde_json::{Value, json};

use crate::client::{params, rpc};
use crate::support::{AGENT, App};

fn good() -> String {
    rpc("SendMessage", &params(&json!({})))
}

/// The good request with other members of the envelope.
fn envelope(members: &Value) -> String {
    let mut request: Value = serde_json::from_str(&good()).unwrap();
    for (name, value) in members.as_object().unwrap() {
        request[name] = value.clone();
    }
    request.to_string()
}

fn without(member: &str) -> String {
    let mut request: Value = serde_json::from_str(&good()).unwrap();
    request.as_object_mut().unwrap().remove(member);
    request.to_string()
}

#[tokio::test]
async fn golden_5_4_the_dispatcher_answers_as_the_python_runtime_s_with_our_differences() {
    let server = App::of(AGENT).start().await;
    let method = |name: &str| rpc(name, &json!({}));
    // Body; the runtime's code and id; ours where they differ, with the reason.
    for (body, theirs, id, ours) in [
        (format!("[{}]", good()), -32600, json!(null), None),
        ("[]".to_owned(), -32600, json!(null), None),
        ("7".to_owned(), -32600, json!(null), None),
        ("\"text\"".to_owned(), -32600, json!(null), None),
        ("null".to_owned(), -32600, json!(null), None),
        (without("method"), -32600, json!(1), None),
        (envelope(&json!({ "extra": true })), -32600, json!(1), Some((0, json!(1), "unknown members are ignored"))),
        (envelope(&json!({ "jsonrpc": "1.0" })), -32600, json!(1), None),
        (envelope(&json!({ "id": 1.5 })), -32600, json!(null), None),
        (envelope(&json!({ "id": {} })), -32600, json!(null), None),
        (envelope(&json!({ "id": [1] })), -32600, json!(null), None),
        (envelope(&json!({ "id": true })), 0, json!(true), Some((-32600, json!(null), "JSON-RPC has no boolean ids"))),
        (envelope(&json!({ "id": null })), 0, json!(null), None),
        (without("id"), 0, json!(null), Some((-32600, json!(null), "A2A has no notifications"))),
        (method("message/send"), -32601, json!(1), None),
        (method("tasks/get"), -32601, json!(1), None),
        (method("DoMagic"), -32601, json!(1), None),
        (envelope(&json!({ "params": null })), -32602, json!(1), None),
        (envelope(&json!({ "params": {} })), -32602, json!(1), None),
        (envelope(&json!({ "params": [] })), -32602, json!(1), None),
        (without("params"), -32602, json!(1), None),
    ] {
        let before = server.runner.runs();
        let reply = server.call().body(body.clone()).await;
        let (code, id) = match ours {
            None => (theirs, id),
            Some((code, our_id, reason)) => {
                assert_ne!((code, &our_id), (theirs, &id), "no difference any more: {reason}");
                (code, our_id)
            }
        };
        assert_eq!((reply.status, reply.code(), reply.id()), (200, code, id), "{body}");
        assert_eq!(reply.header("content-type"), Some("application/json"), "{body}");
        assert_eq!(server.runner.runs() - before, usize::from(code == 0), "{body}");
    }
}

#[tokio::test]
async fn golden_5_4_operations_of_other_profiles_are_refused_by_name() {
    let server = App::of(AGENT).start().await;
    // Method; the runtime's code; ours where it differs.
    for (method, theirs, ours) in [
        ("GetTask", -32004, None),
        ("ListTasks", -32004, None),
        ("CancelTask", -32004, None),
        ("SendStreamingMessage", -32004, None),
        ("SubscribeToTask", -32004, None),
        ("GetExtendedAgentCard", -32004, None),
        ("CreateTaskPushNotificationConfig", -32004, Some(-32003)),
        ("GetTaskPushNotificationConfig", -32004, Some(-32003)),
        ("ListTaskPushNotificationConfigs", -32004, Some(-32003)),
        ("DeleteTaskPushNotificationConfig", -32004, Some(-32003)),
    ] {
        let reply = server.call().rpc(method, &json!({})).await;
        assert_eq!((reply.status, reply.code(), reply.id()), (200, ours.unwrap_or(theirs), json!(1)), "{method}");
        assert_eq!(reply.header("content-type"), Some("application/json"), "{method}");
        let message = reply.json()["error"]["message"].to_string();
        assert!(message.contains(method), "{message}");
    }
    assert_eq!(server.runner.runs(), 0);
}

#[tokio::test]
async fn c001_c004_an_invalid_request_is_answered_under_its_own_id() {
    let server = App::of(AGENT).start().await;
    for (body, id) in [
        (without("jsonrpc").replace("\"id\":1", "\"id\":7"), json!(7)),
        (envelope(&json!({ "jsonrpc": "1.0", "id": "abc" })), json!("abc")),
        (envelope(&json!({ "jsonrpc": 2.0, "id": "abc" })), json!("abc")),
    ] {
        let reply = server.call().body(body.clone()).await;
        assert_eq!((reply.code(), reply.id()), (-32600, id), "{body}");
        assert_eq!(reply.reasons(), ["a2a-protocol.org INVALID_REQUEST"]);
    }
}

#[tokio::test]
async fn c002_parameters_of_the_wrong_type_are_told_from_an_odd_member() {
    let server = App::of(AGENT).start().await;
    let mut odd = params(&json!({}));
    odd[""] = json!("x");
    for (params, code) in [(json!("hi"), -32602), (json!(["hi"]), -32602), (odd, 0)] {
        let reply = server.call().rpc("SendMessage", &params).await;
        assert_eq!((reply.code(), reply.id()), (code, json!(1)), "{params}");
    }
}

#[tokio::test]
async fn c003_what_is_not_json_is_answered_with_json_and_the_null_id() {
    let server = App::of(AGENT).start().await;
    for body in [&br#"{"jsonrpc":"2.0","id":1,"method":"#[..], b"", b"hello", b"{not-json", b"\xff\xfe{\0}\0"] {
        let reply = server.call().body(body).await;
        assert_eq!((reply.status, reply.code(), reply.id()), (400, -32700, json!(null)), "{body:?}");
        assert_eq!(reply.header("content-type"), Some("application/json"));
    }
}

#[tokio::test]
async fn c005_ids_come_back_with_every_byte_and_their_type() {
    let server = App::of(AGENT).start().await;
    for id in ["\"1\"", "\"007\"", "\"\"", "0", "-7", "9007199254740993", r#""\u0041 é""#] {
        let reply = server.call().body(good().replace("\"id\":1", &format!("\"id\":{id}"))).await;
        assert_eq!(reply.code(), 0, "{id}");
        assert!(reply.text.contains(&format!("\"id\":{id},")), "{id}: {}", reply.text);
    }
}

#[tokio::test]
async fn c006_a_batch_gets_one_refusal_and_runs_nothing() {
    let server = App::of(AGENT).start().await;
    let short = r#"{"jsonrpc":"2.0","id":1}"#;
    let many = format!("[{}]", vec![short; 10_000].join(","));
    for body in [format!("[{}]", good()), "[]".to_owned(), many] {
        let reply = server.call().body(body).await;
        assert_eq!((reply.status, reply.code(), reply.id()), (200, -32600, json!(null)));
    }
    assert_eq!(server.runner.runs(), 0);
}

#[tokio::test]
async fn c007_c011_an_absent_id_is_refused_and_a_null_id_is_answered() {
    let server = App::of(AGENT).start().await;
    let reply = server.call().body(without("id")).await;
    assert_eq!((reply.status, reply.code(), reply.id()), (200, -32600, json!(null)));
    assert_eq!(server.runner.runs(), 0);
    let reply = server.call().body(envelope(&json!({ "id": null }))).await;
    assert_eq!((reply.code(), reply.id()), (0, json!(null)));
    assert_eq!(server.runner.runs(), 1);
}

#[tokio::test]
async fn c010_methods_are_those_of_the_version_on_the_card() {
    let server = App::of(AGENT).start().await;
    let card = server.get("/agents/main/.well-known/agent-card.json").nothing().await.json();
    assert_eq!(card["supportedInterfaces"][0]["protocolVersion"], "1.0");
    for (method, code) in [("SendMessage", 0), ("message/send", -32601), ("sendMessage", -32601)] {
        let reply = server.call().rpc(method, &params(&json!({}))).await;
        assert_eq!(reply.code(), code, "{method}");
    }
}

#[tokio::test]
async fn c094_an_envelope_of_another_kind_learns_what_is_expected() {
    let server = App::of(AGENT).start().await;
    for body in [r#"{"parameters":{"query":"hi"},"interaction_type":"query"}"#, r#"{"query":"hi"}"#] {
        let reply = server.call().body(body).await;
        assert_eq!((reply.status, reply.code(), reply.id()), (200, -32600, json!(null)));
        let message = reply.json()["error"]["message"].to_string();
        assert!(message.contains("jsonrpc") && message.contains("SendMessage"), "{message}");
    }
}
