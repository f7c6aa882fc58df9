//! How a message may be written: the JSON of protocol buffers, and what clients make of it.

use serde_json::{Value, json};

use crate::support::{AGENT, App};

fn with_part(part: &Value) -> Value {
    json!({ "message": { "parts": [part] } })
}

#[tokio::test]
async fn c008_missing_fields_are_blamed_by_their_paths_and_the_agent_is_not_called() {
    let server = App::of(AGENT).start().await;
    let message = |message: Value| json!({ "message": message });
    let part = json!([{ "text": "hi" }]);
    for (params, blamed) in [
        (message(json!({ "messageId": "m", "role": "ROLE_USER", "parts": [] })), &["message.parts"][..]),
        (json!({}), &["message"]),
        (message(json!(null)), &["message"]),
        (message(json!({ "role": "ROLE_USER", "parts": part })), &["message.messageId"]),
        (message(json!({ "messageId": "m", "parts": part })), &["message.role"]),
    ] {
        let reply = server.call().rpc("SendMessage", &params).await;
        assert_eq!((reply.status, reply.code()), (200, -32602), "{params}");
        assert_eq!(reply.blamed(), blamed, "{params}");
    }
    assert_eq!(server.runner.runs(), 0);
}

#[tokio::test]
async fn c009_an_unsupported_part_is_an_error_and_not_an_apology() {
    let server = App::of(AGENT).start().await;
    let reply = server.call().send(&with_part(&json!({ "raw": "AA==", "mediaType": "application/x-nope" }))).await;
    assert_eq!(reply.code(), -32005);
    assert_eq!(reply.reasons(), ["a2a-protocol.org CONTENT_TYPE_NOT_SUPPORTED"]);
    assert_eq!(server.runner.runs(), 0);
}

#[tokio::test]
async fn c014_integer_enums_and_snake_case_are_read_and_never_written() {
    let server = App::of(AGENT).start().await;
    let params =
        json!({ "message": { "message_id": "m", "role": 1, "parts": [{ "text": "hi" }], "context_id": "c1" } });
    let reply = server.call().rpc("SendMessage", &params).await;
    assert_eq!((reply.context_id().as_str(), &reply.message()["role"]), ("c1", &json!("ROLE_AGENT")));
    assert!(!reply.text.contains("message_id") && !reply.text.contains("context_id"), "{}", reply.text);
}

#[tokio::test]
async fn c015_unknown_members_are_ignored_at_every_level() {
    let server = App::of(AGENT).start().await;
    let patch = json!({
        "zzz": true,
        "configuration": { "blocking": false },
        "message": { "futureField": { "x": 1 }, "parts": [{ "text": "hi", "unknownX": 1 }] },
    });
    assert_eq!(server.call().send(&patch).await.code(), 0);
    assert_eq!(server.runner.prompt(), "hi");
}

#[tokio::test]
async fn c016_a_part_with_two_contents_is_refused() {
    let server = App::of(AGENT).start().await;
    let reply = server.call().send(&with_part(&json!({ "text": "hi", "url": "https://example.com/x" }))).await;
    assert_eq!(reply.code(), -32602);
}

#[tokio::test]
async fn c017_every_alphabet_of_base64_is_read_before_the_kind_of_part_is_judged() {
    let server = App::of(AGENT).start().await;
    // -32005 is about the kind of part; bytes that cannot be decoded would be -32602.
    for (raw, code) in [("-_-_", -32005), ("QUI", -32005), ("QUI=", -32005), ("Q!I=", -32602)] {
        let reply = server.call().send(&with_part(&json!({ "raw": raw, "mediaType": "text/plain" }))).await;
        assert_eq!(reply.code(), code, "{raw}");
    }
}

#[tokio::test]
async fn c018_what_version_0_3_wrote_is_ignored_or_refused_but_never_echoed() {
    let server = App::of(AGENT).start().await;
    let reply = server.call().send(&with_part(&json!({ "kind": "text", "text": "hi" }))).await;
    assert_eq!(reply.code(), 0);
    assert!(!reply.text.contains("kind"), "{}", reply.text);
    let file = with_part(&json!({ "kind": "file", "file": { "bytes": "AA==" } }));
    for patch in [json!({ "message": { "role": "user" } }), file] {
        assert_eq!(server.call().send(&patch).await.code(), -32602, "{patch}");
    }
}

#[tokio::test]
async fn c019_null_is_absence_except_where_something_is_required() {
    let server = App::of(AGENT).start().await;
    let nulls = json!({
        "configuration": null, "metadata": null,
        "message": { "extensions": null, "metadata": null, "referenceTaskIds": null, "contextId": null, "taskId": null },
    });
    assert_eq!(server.call().send(&nulls).await.code(), 0);
    for patch in [with_part(&json!(null)), json!({ "message": { "role": null } })] {
        assert_eq!(server.call().send(&patch).await.code(), -32602, "{patch}");
    }
}

#[tokio::test]
async fn c020_a_reply_has_no_null_and_no_empty_placeholder() {
    let server = App::of(AGENT).start().await;
    let reply = server.call().send(&json!({})).await;
    assert_eq!(reply.code(), 0);
    for placeholder in ["null", "\"\"", "[]", "{}"] {
        assert!(!reply.text.contains(placeholder), "{placeholder}: {}", reply.text);
    }
}

#[tokio::test]
async fn c123_push_notifications_are_refused_as_such() {
    let server = App::of(AGENT).start().await;
    let inline = json!({ "configuration": { "taskPushNotificationConfig": { "url": "https://c.example/h" } } });
    let reply = server.call().send(&inline).await;
    assert_eq!((reply.code(), server.runner.runs()), (-32003, 0));
    for (method, params) in [
        ("CreateTaskPushNotificationConfig", json!({ "taskId": "t", "url": "https://c.example/h" })),
        ("GetTaskPushNotificationConfig", json!({ "taskId": "t", "id": "c" })),
        ("ListTaskPushNotificationConfigs", json!({ "taskId": "t" })),
        ("DeleteTaskPushNotificationConfig", json!({ "taskId": "t", "id": "c" })),
    ] {
        let reply = server.call().rpc(method, &params).await;
        assert_eq!(reply.code(), -32003, "{method}");
        assert_eq!(reply.reasons(), ["a2a-protocol.org PUSH_NOTIFICATION_NOT_SUPPORTED"]);
    }
}

#[tokio::test]
async fn c136_an_extended_card_that_is_not_offered_is_an_unsupported_operation() {
    let server = App::of(AGENT).start().await;
    let reply = server.call().body(r#"{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}"#).await;
    assert_eq!((reply.code(), reply.reasons()), (-32004, vec!["a2a-protocol.org UNSUPPORTED_OPERATION".to_owned()]));
    let card = server.get("/agents/main/.well-known/agent-card.json").nothing().await.json();
    assert_eq!(card["capabilities"]["extendedAgentCard"], false);
}

#[tokio::test]
async fn c141_a_tenant_is_ignored_because_no_card_declares_one() {
    let server = App::of(AGENT).start().await;
    server.call().say("ctx", "one").await.message();
    let patch =
        json!({ "tenant": "t1", "message": { "messageId": "m2", "contextId": "ctx", "parts": [{ "text": "two" }] } });
    // The same conversation, whatever the tenant.
    assert_eq!(server.call().send(&patch).await.said(), r#"["one","two"]"#);
    let card = server.get("/agents/main/.well-known/agent-card.json").nothing().await.json();
    assert!(card["supportedInterfaces"][0].get("tenant").is_none(), "{card}");
    // No catch-all for tenants swallows other paths.
    for path in ["/t1/agents/main/a2a", "/agents/main/t1/message:send"] {
        assert_eq!(server.get(path).nothing().await.status, 404, "{path}");
    }
}
