//! The Python runtime's dispatcher table, with a column for what we do otherwise, and the cases around envelopes.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::protocol::wire::text_reply;
use crate::protocol::{ErrorKind, Request, ServiceError};

const MSG: &str = r#"{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]}"#;

fn send(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"SendMessage","params":{{"message":{MSG}}}}}"#)
}

/// Code and id of the answer to a body; code 0 is a request that was read.
fn answer(body: &str) -> (i32, String) {
    match decode(body.as_bytes()) {
        Err(rejection) => (rejection.error.row().json_rpc, rejection.id.as_json().to_owned()),
        Ok(envelope) => {
            let code = envelope.request().err().map_or(0, |error| error.row().json_rpc);
            (code, envelope.id.as_json().to_owned())
        }
    }
}

/// Where our answer to a row of the table is not the Python runtime's.
enum Ours {
    Same,
    Code(i32, &'static str),
}

#[test]
fn the_python_runtime_s_dispatcher_table_with_our_differences() {
    use Ours::{Code, Same};
    let with_id = |id: &str| send(id);
    let no_id = format!(r#"{{"jsonrpc":"2.0","method":"SendMessage","params":{{"message":{MSG}}}}}"#);
    let method = |name: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{name}","params":{{}}}}"#);
    let params = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{params}}}"#);
    let message = |member: &str| {
        params(&format!(r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"hi"}}],{member}}}}}"#))
    };
    // Body; the runtime's code and id; ours, with the reason.
    for (body, theirs, id, ours) in [
        (format!("[{}]", send("1")), -32600, "null", Same),
        ("[]".to_owned(), -32600, "null", Same),
        ("7".to_owned(), -32600, "null", Same),
        ("\"text\"".to_owned(), -32600, "null", Same),
        ("null".to_owned(), -32600, "null", Same),
        (r#"{"jsonrpc":"2.0","id":3}"#.to_owned(), -32600, "3", Same),
        (
            send("1").replace("\"id\"", "\"extra\":true,\"id\""),
            -32600,
            "1",
            Code(0, "unknown members are ignored (5.7)"),
        ),
        (send("1").replace("2.0", "1.0"), -32600, "1", Same),
        (with_id("1.5"), -32600, "null", Same),
        (with_id("{}"), -32600, "null", Same),
        (with_id("[1]"), -32600, "null", Same),
        (with_id("null"), 0, "null", Same),
        (with_id("true"), 0, "true", Code(-32600, "JSON-RPC knows no boolean ids")),
        (no_id, 0, "null", Code(-32600, "A2A has no notifications")),
        (method("message/send"), -32601, "1", Same),
        (method("tasks/get"), -32601, "1", Same),
        (method("DoMagic"), -32601, "1", Same),
        (params("null"), -32602, "1", Same),
        (params("[]"), -32602, "1", Same),
        (message(r#""unknown":1"#), -32602, "1", Code(0, "unknown members are ignored (5.7)")),
        (message(r#""kind":"message""#), -32602, "1", Code(0, "unknown members are ignored (5.7)")),
        (params(r#"{"message":{"role":"user"}}"#), -32602, "1", Same),
        (params(&format!(r#"{{"tenant":"t","message":{MSG}}}"#)), 0, "1", Same),
        (params(r#"{"message":{"message_id":"m","role":1,"parts":[{"text":"hi"}]}}"#), 0, "1", Same),
        (
            method("GetTask").replace("{}", r#"{"unknown":1}"#),
            -32602,
            "1",
            Code(0, "unknown members are ignored (5.7)"),
        ),
    ] {
        let (code, our_id) = answer(&body);
        match ours {
            Same => assert_eq!((code, our_id.as_str()), (theirs, id), "{body}"),
            Code(expected, reason) => {
                assert_ne!(code, theirs, "no difference any more: {reason}");
                assert_eq!(code, expected, "{reason}: {body}");
            }
        }
    }
}

#[test]
fn c001_c004_an_invalid_request_keeps_its_id() {
    for (body, id) in [
        (format!(r#"{{"id":7,"method":"SendMessage","params":{{"message":{MSG}}}}}"#), "7"),
        (send("\"abc\"").replace(r#""2.0""#, r#""1.0""#), "\"abc\""),
        (send("\"abc\"").replace(r#""2.0""#, "2.0"), "\"abc\""),
        (send("8").replace("\"SendMessage\"", "5"), "8"),
    ] {
        assert_eq!(answer(&body), (-32600, id.to_owned()), "{body}");
    }
}

#[test]
fn c002_parameters_of_another_type_are_invalid_parameters() {
    for (params, code) in [
        ("\"hi\"".to_owned(), -32602),
        ("[\"hi\"]".to_owned(), -32602),
        ("7".to_owned(), -32602),
        (format!(r#"{{"":"x","message":{MSG}}}"#), 0),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{params}}}"#);
        assert_eq!(answer(&body), (code, "1".to_owned()), "{params}");
    }
}

#[test]
fn c003_what_is_not_json_is_a_parse_error_under_the_null_id() {
    for body in [&br#"{"jsonrpc":"2.0","id":1,"method":"#[..], b"", b"hello", b"{\"id\":NaN}", b"\xff", b"{} {}"] {
        let rejection = decode(body).unwrap_err();
        assert_eq!(rejection.error.kind(), ErrorKind::ParseError);
        assert_eq!(http_status(rejection.error.kind()).as_u16(), 400);
        let reply: serde_json::Value = serde_json::from_slice(&encode_error(rejection.id, &rejection.error)).unwrap();
        assert_eq!((&reply["id"], &reply["error"]["code"]), (&json!(null), &json!(-32700)));
        assert!(reply.as_object().unwrap().contains_key("id"));
    }
}

#[test]
fn c005_ids_come_back_byte_for_byte() {
    let huge = "9".repeat(40);
    for id in ["\"1\"", "\"007\"", "\"\"", "0", "-0", "-17", &huge, r#""\u0041\/é""#, "null"] {
        assert_eq!(answer(&send(id)), (0, id.to_owned()));
        let body = send(id);
        let reply = encode_result(decode(body.as_bytes()).unwrap().id, &json!({})).unwrap();
        assert_eq!(reply, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
}

#[test]
fn ids_that_readers_would_change_are_refused() {
    for id in ["1.0", "1e2", "1E2", "-0.0", "true", "false", "{}", "[]"] {
        assert_eq!(answer(&send(id)), (-32600, "null".to_owned()), "{id}");
    }
}

#[test]
fn c006_a_batch_is_refused_as_one_however_large() {
    let one = send("1");
    let large = format!("[{}]", vec![one.as_str(); 10_000].join(","));
    for body in [format!("[{one}]"), "[]".to_owned(), " [1]".to_owned(), large, "[".repeat(100) + &"]".repeat(100)] {
        assert_eq!(answer(&body), (-32600, "null".to_owned()));
    }
    assert_eq!(answer("[1,"), (-32700, "null".to_owned()));
}

#[test]
fn c007_a_request_without_id_is_refused_before_it_runs() {
    let body = send("1").replace(r#""id":1,"#, "");
    let rejection = decode(body.as_bytes()).unwrap_err();
    assert_eq!((rejection.error.kind(), rejection.id), (ErrorKind::InvalidRequest, RequestId::NULL));
    assert!(rejection.error.message().contains("no notifications"));
}

#[test]
fn c011_a_null_id_is_answered_under_null() {
    assert_eq!(answer(&send("null")), (0, "null".to_owned()));
}

#[test]
fn c094_other_envelopes_learn_what_is_expected() {
    for body in [r#"{"parameters":{"query":"hi"},"interaction_type":"query"}"#, r#"{"query":"hi"}"#] {
        let rejection = decode(body.as_bytes()).unwrap_err();
        assert_eq!((rejection.error.kind(), rejection.id), (ErrorKind::InvalidRequest, RequestId::NULL));
        for member in ["jsonrpc", "2.0", "id", "method", "params"] {
            assert!(rejection.error.message().contains(member), "{}", rejection.error.message());
        }
        assert_eq!(http_status(rejection.error.kind()).as_u16(), 200);
    }
}

#[test]
fn c136_parameters_may_be_missing() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}"#;
    let request = decode(body.as_bytes()).unwrap().request().unwrap();
    assert!(matches!(request, Request::GetExtendedAgentCard(_)));
}

#[test]
fn methods_may_be_written_with_escapes() {
    let body = send("1").replace("SendMessage", r"Send\u004dessage");
    assert_eq!(decode(body.as_bytes()).unwrap().method, "SendMessage");
}

#[test]
fn bounds_apply_to_the_whole_body() {
    let deep =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}}"#, "[".repeat(70) + &"]".repeat(70));
    let twice = send("1").replace("\"id\":1", "\"id\":1,\"id\":2");
    for body in [deep, twice] {
        assert_eq!(answer(&body), (-32700, "null".to_owned()));
    }
}

#[test]
fn replies_are_written_in_the_order_of_the_specification() {
    let reply = encode_result(RequestId::NULL, &text_reply("r".into(), "c".into(), "<é\n>".into())).unwrap();
    assert_eq!(
        reply,
        r#"{"jsonrpc":"2.0","id":null,"result":{"message":{"messageId":"r","contextId":"c","role":"ROLE_AGENT","parts":[{"text":"<é\n>"}]}}}"#
    );
    let error = encode_error(RequestId::NULL, &ServiceError::new(ErrorKind::TaskNotFound, "No such task."));
    assert_eq!(
        error,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"No such task.","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}"#
    );
}

#[test]
fn only_what_never_became_an_envelope_has_another_status_than_200() {
    for kind in ErrorKind::ALL {
        let expected = match kind {
            ErrorKind::ParseError => 400,
            ErrorKind::Unauthenticated => 401,
            ErrorKind::Forbidden => 403,
            ErrorKind::PayloadTooLarge => 413,
            ErrorKind::UnsupportedMediaType => 415,
            _ => 200,
        };
        assert_eq!(http_status(kind).as_u16(), expected, "{kind:?}");
    }
}

#[test]
fn a_result_that_cannot_be_written_is_an_internal_error() {
    struct Unwritable;
    impl serde::Serialize for Unwritable {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("broken"))
        }
    }
    let error = encode_result(RequestId::NULL, &Unwritable).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
}

proptest! {
    #[test]
    fn an_id_survives_decoding_and_encoding_byte_for_byte(
        id in prop_oneof![any::<String>().prop_map(|id| json!(id).to_string()), "-?(0|[1-9][0-9]{0,30})"]
    ) {
        let body = send(&id);
        let envelope = decode(body.as_bytes()).unwrap();
        let reply = encode_result(envelope.id, &json!(1)).unwrap();
        prop_assert_eq!(reply, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#));
    }

    #[test]
    fn no_body_is_answered_with_anything_but_json_rpc(body in any::<Vec<u8>>()) {
        if let Err(rejection) = decode(&body) {
            let reply: serde_json::Value = serde_json::from_slice(&encode_error(rejection.id, &rejection.error)).unwrap();
            prop_assert_eq!(&reply["jsonrpc"], "2.0");
        }
    }
}
