//! The simple profile's checks as the Python runtime orders them, with a column for what we do otherwise.

use serde_json::{Value, json};

use super::*;
use crate::protocol::Request;

fn try_accept(params: &Value) -> Result<SimpleTurn, ServiceError> {
    Request::decode(Operation::SendMessage, &params.to_string()).and_then(accept)
}

/// A good request, changed by JSON Merge Patch.
fn with(patch: &Value) -> Value {
    let mut params = json!({ "message": { "messageId": "m1", "role": "ROLE_USER", "parts": [{ "text": "hi" }] } });
    merge(&mut params, patch);
    params
}

fn merge(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(members), Value::Object(patches)) => {
            for (name, patch) in patches {
                merge(members.entry(name).or_insert(Value::Null), patch);
            }
        }
        (target, patch) => *target = patch.clone(),
    }
}

fn parts(parts: &Value) -> Value {
    with(&json!({ "message": { "parts": parts } }))
}

fn text(length: usize) -> Value {
    json!({ "text": "x".repeat(length) })
}

fn code(params: &Value) -> i32 {
    try_accept(params).err().map_or(0, |error| error.row().json_rpc)
}

/// Paths of the fields that an error blames.
fn blamed(error: &ServiceError) -> Vec<String> {
    let details = serde_json::to_value(error.details()).unwrap();
    let violations = details.as_array().unwrap().iter().filter_map(|detail| detail["fieldViolations"].as_array());
    violations.flatten().map(|violation| violation["field"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_python_runtime_s_checks_with_our_differences() {
    let message = |patch: Value| with(&json!({ "message": patch }));
    let configuration = |patch: Value| with(&json!({ "configuration": patch }));
    // Row of the table; request; the runtime's code; ours where it differs, with the reason.
    for (row, params, theirs, ours) in [
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
        (
            "i",
            configuration(json!({ "taskPushNotificationConfig": { "url": "https://c.example/h" } })),
            -32004,
            Some((-32003, "specification 3.3.2")),
        ),
        ("j", configuration(json!({ "acceptedOutputModes": ["image/png"] })), -32602, None),
        ("j", configuration(json!({ "acceptedOutputModes": ["text/*", "*/*"] })), -32602, None),
        ("j", configuration(json!({ "acceptedOutputModes": ["image/png", "TEXT/Plain"] })), 0, None),
        ("j", configuration(json!({ "acceptedOutputModes": [] })), 0, None),
        ("l", parts(&json!([{ "text": " \n" }, { "text": "\t\u{2003}" }])), -32602, None),
        ("no effect", configuration(json!({ "returnImmediately": true, "historyLength": 3 })), 0, None),
        ("no effect", with(&json!({ "metadata": { "a": 1 }, "tenant": "t1" })), 0, None),
        (
            "no effect",
            parts(&json!([{ "text": "hi", "mediaType": "text/html", "filename": "f", "metadata": {} }])),
            0,
            None,
        ),
    ] {
        let expected = ours.map_or(theirs, |(code, reason)| {
            assert_ne!(code, theirs, "no difference any more: {reason}");
            code
        });
        assert_eq!(code(&params), expected, "row {row}");
    }
}

#[test]
fn checks_run_in_the_order_of_the_table() {
    let mut faulty = with(&json!({
        "message": { "role": "ROLE_AGENT", "taskId": "t", "extensions": ["urn:x"], "parts": [{ "url": "u" }, text(32_769)] },
        "configuration": { "acceptedOutputModes": ["image/png"], "taskPushNotificationConfig": { "url": "u" } }
    }));
    let mut fix = |patch: Value| {
        let error = try_accept(&faulty).unwrap_err();
        merge(&mut faulty, &patch);
        error.kind()
    };
    assert_eq!(fix(json!({ "message": { "role": 1 } })), ErrorKind::InvalidParams);
    assert_eq!(fix(json!({ "message": { "taskId": "" } })), ErrorKind::UnsupportedOperation);
    assert_eq!(fix(json!({ "message": { "extensions": [] } })), ErrorKind::UnsupportedOperation);
    assert_eq!(fix(json!({ "message": { "parts": [text(32_769)] } })), ErrorKind::ContentTypeNotSupported);
    assert_eq!(fix(json!({ "message": { "parts": [text(1)] } })), ErrorKind::InvalidParams);
    assert_eq!(
        fix(json!({ "configuration": { "taskPushNotificationConfig": null } })),
        ErrorKind::PushNotificationNotSupported
    );
    assert_eq!(fix(json!({ "configuration": null })), ErrorKind::InvalidParams);
    assert_eq!(code(&faulty), 0);
}

#[test]
fn c008_missing_fields_are_all_named_by_their_paths() {
    for (params, expected) in [
        (json!({}), &["message"][..]),
        (json!({ "message": null }), &["message"]),
        (json!({ "message": {} }), &["message.messageId", "message.role", "message.parts"]),
        (with(&json!({ "message": { "parts": [] } })), &["message.parts"]),
        (with(&json!({ "message": { "parts": null } })), &["message.parts"]),
        (with(&json!({ "message": { "messageId": "" } })), &["message.messageId"]),
        (with(&json!({ "message": { "role": null } })), &["message.role"]),
        (with(&json!({ "message": { "role": 0 } })), &["message.role"]),
    ] {
        let error = try_accept(&params).unwrap_err();
        assert_eq!(
            (error.kind(), blamed(&error)),
            (ErrorKind::InvalidParams, expected.iter().map(ToString::to_string).collect())
        );
    }
}

#[test]
fn c009_a_part_of_another_kind_is_an_error_with_its_reason() {
    let error = try_accept(&parts(&json!([{ "text": "hi" }, { "raw": "AA==", "mediaType": "application/x-nope" }])))
        .unwrap_err();
    assert_eq!((error.row().json_rpc, error.row().reason), (-32005, "CONTENT_TYPE_NOT_SUPPORTED"));
    assert_eq!(blamed(&error), ["message.parts[1].raw"]);
}

#[test]
fn c018_a_part_without_content_is_invalid() {
    let error = try_accept(&parts(&json!([{ "kind": "file", "file": { "bytes": "AA==" } }]))).unwrap_err();
    assert_eq!((error.kind(), blamed(&error)), (ErrorKind::InvalidParams, vec!["message.parts[0]".to_owned()]));
}

#[test]
fn c015_c018_c019_unknown_members_kinds_and_nulls_are_ignored() {
    let plain = try_accept(&with(&json!({}))).unwrap();
    let noisy = try_accept(&json!({
        "zzz": true,
        "configuration": null,
        "message": {
            "kind": "message", "futureField": { "x": 1 },
            "messageId": "m1", "role": "ROLE_USER", "parts": [{ "kind": "text", "text": "hi" }],
            "extensions": null, "metadata": null, "referenceTaskIds": null, "contextId": null, "taskId": null,
        },
    }));
    assert_eq!(noisy.unwrap(), plain);
}

#[test]
fn c042_c043_c044_a_context_id_is_taken_as_it_is_and_an_empty_one_is_none() {
    let context = |id: Value| try_accept(&with(&json!({ "message": { "contextId": id } }))).unwrap().context_id;
    assert_eq!(context(json!("my-own")), Some("my-own".to_owned()));
    assert_eq!(context(json!("../unsafe\u{0} é")), Some("../unsafe\u{0} é".to_owned()));
    assert_eq!(context(json!("x".repeat(100_000))).map(|id| id.len()), Some(100_000));
    assert_eq!(context(json!("")), None);
    assert_eq!(context(Value::Null), None);
    let empties = with(&json!({ "tenant": "", "message": { "contextId": "", "taskId": "" } }));
    assert_eq!(try_accept(&empties).unwrap(), try_accept(&with(&json!({}))).unwrap());
}

#[test]
fn c141_a_tenant_is_ignored_because_the_card_has_none() {
    assert_eq!(try_accept(&with(&json!({ "tenant": "t1" }))).unwrap(), try_accept(&with(&json!({}))).unwrap());
}

#[test]
fn c123_c136_other_operations_get_their_own_refusals() {
    for operation in Operation::ALL {
        let expected = match operation {
            Operation::SendMessage => ErrorKind::InvalidParams,
            Operation::CreateTaskPushNotificationConfig
            | Operation::GetTaskPushNotificationConfig
            | Operation::ListTaskPushNotificationConfigs
            | Operation::DeleteTaskPushNotificationConfig => ErrorKind::PushNotificationNotSupported,
            _ => ErrorKind::UnsupportedOperation,
        };
        let error = Request::decode(operation, "{}").and_then(accept).unwrap_err();
        assert_eq!(error.kind(), expected, "{operation:?}");
    }
}

#[test]
fn texts_are_joined_by_one_space_and_not_trimmed() {
    let turn = try_accept(&parts(&json!([{ "text": " a" }, { "text": "" }, { "text": "b\n" }]))).unwrap();
    assert_eq!(turn.prompt, " a  b\n");
}

#[test]
fn a_message_id_is_bounded_because_it_is_kept() {
    let of = |length: usize| code(&with(&json!({ "message": { "messageId": "m".repeat(length) } })));
    assert_eq!((of(MAX_MESSAGE_ID_BYTES), of(MAX_MESSAGE_ID_BYTES + 1)), (0, -32602));
}

#[test]
fn a_repeat_of_a_message_has_the_same_hash_whatever_its_configuration() {
    let hash = |patch: Value| try_accept(&with(&patch)).unwrap().payload_hash;
    assert_eq!(hash(json!({})), hash(json!({ "configuration": { "returnImmediately": true } })));
    assert_ne!(hash(json!({})), hash(json!({ "message": { "metadata": { "a": 1 } } })));
    assert_ne!(hash(json!({})), hash(json!({ "metadata": { "a": 1 } })));
}
