//! `ProtoJSON` input and output as the specification's ADR-001 asks for it.

use serde_json::json;

use super::*;

fn request(message: &str) -> Result<SendMessageRequest, WireError> {
    decode(&format!(r#"{{"message":{message}}}"#))
}

fn canonical() -> SendMessageRequest {
    request(r#"{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}],"contextId":"c1"}"#).unwrap()
}

#[test]
fn c014_integer_enums_and_snake_case_are_accepted() {
    assert_eq!(
        request(r#"{"message_id":"m","role":1,"parts":[{"text":"hi"}],"context_id":"c1"}"#).unwrap(),
        canonical()
    );
}

#[test]
fn c014_output_is_camel_case_with_enum_names() {
    assert_eq!(
        serde_json::to_value(canonical()).unwrap(),
        json!({ "message": { "messageId": "m", "contextId": "c1", "role": "ROLE_USER", "parts": [{ "text": "hi" }] } })
    );
}

#[test]
fn c015_unknown_members_are_ignored_at_every_level() {
    let with_unknown: SendMessageRequest = decode(
        r#"{"message":{"messageId":"m","role":"ROLE_USER","contextId":"c1","futureField":{"x":1},
            "parts":[{"text":"hi","unknownX":1}]},"zzz":true}"#,
    )
    .unwrap();
    assert_eq!(with_unknown, canonical());
}

#[test]
fn c016_two_content_members_in_a_part_are_refused() {
    let error =
        request(r#"{"messageId":"m","role":1,"parts":[{"text":"hi","url":"https://example.com/x"}]}"#).unwrap_err();
    assert_eq!(error.field, "message.parts[0]");
    assert_eq!(error.reason, "url is given twice, or beside another member of the same choice");
}

#[test]
fn c016_a_field_under_both_of_its_names_is_refused() {
    let error = request(r#"{"messageId":"m","message_id":"n","role":1,"parts":[]}"#).unwrap_err();
    assert_eq!(error.field, "message");
    assert_eq!(error.reason, "messageId is given twice, or beside another member of the same choice");
}

#[test]
fn c017_every_alphabet_of_base64_is_read_and_the_standard_one_written() {
    for (raw, bytes, written) in
        [("-_-_", vec![251, 255, 191], "+/+/"), ("QUI", b"AB".to_vec(), "QUI="), ("QUI=", b"AB".to_vec(), "QUI=")]
    {
        let part: Part = decode(&json!({ "raw": raw }).to_string()).unwrap();
        assert_eq!(part.content, Some(part::Content::Raw(bytes)));
        assert_eq!(serde_json::to_value(part).unwrap(), json!({ "raw": written }));
    }
}

#[test]
fn c018_the_kind_of_version_0_3_is_ignored_and_not_echoed() {
    let part: Part = decode(r#"{"kind":"text","text":"hi"}"#).unwrap();
    assert_eq!(serde_json::to_string(&part).unwrap(), r#"{"text":"hi"}"#);
    let file: Part = decode(r#"{"kind":"file","file":{"bytes":"AA=="}}"#).unwrap();
    assert_eq!(file.content, None);
}

#[test]
fn c018_a_role_of_version_0_3_is_refused_at_its_path() {
    let error = request(r#"{"messageId":"m","role":"user","parts":[{"text":"hi"}]}"#).unwrap_err();
    assert_eq!(error.field, "message.role");
}

#[test]
fn c019_null_is_unset_for_optional_repeated_and_map_members() {
    let with_nulls: SendMessageRequest = decode(
        r#"{"tenant":null,"metadata":null,"message":{"messageId":"m","role":"ROLE_USER","contextId":"c1",
            "parts":[{"text":"hi","filename":null,"mediaType":null,"metadata":null,"url":null}],
            "extensions":null,"metadata":null,"referenceTaskIds":null,"taskId":null},"configuration":null}"#,
    )
    .unwrap();
    assert_eq!(with_nulls, canonical());
    let configuration: SendMessageConfiguration = decode(
        r#"{"acceptedOutputModes":null,"taskPushNotificationConfig":null,"historyLength":null,"returnImmediately":null}"#,
    )
    .unwrap();
    assert_eq!(configuration, SendMessageConfiguration::default());
}

#[test]
fn c019_null_is_not_an_element_of_a_list() {
    let error = request(r#"{"messageId":"m","role":1,"parts":[{"text":"hi"},null]}"#).unwrap_err();
    assert_eq!(error.field, "message.parts[1]");
}

#[test]
fn c019_null_is_a_value_inside_metadata() {
    let request: SendMessageRequest = decode(r#"{"tenant":null,"metadata":{"a":null,"b":{"c":null}}}"#).unwrap();
    assert_eq!(serde_json::to_value(request.metadata).unwrap(), json!({ "a": null, "b": { "c": null } }));
}

#[test]
fn integers_of_metadata_that_no_double_holds_are_rounded() {
    let request: SendMessageRequest = decode(r#"{"metadata":{"id":9007199254740993,"small":1}}"#).unwrap();
    assert_eq!(
        serde_json::to_value(request.metadata).unwrap(),
        json!({ "id": 9_007_199_254_740_992.0_f64, "small": 1.0 })
    );
}

#[test]
fn numbers_may_be_strings() {
    let request: GetTaskRequest = decode(r#"{"id":"t","historyLength":"5"}"#).unwrap();
    assert_eq!(request.history_length, Some(5));
}

#[test]
fn paths_are_camel_case_and_reasons_are_short() {
    let long = "x".repeat(10_000);
    let error = request(&format!(r#"{{"message_id":7,"role":"{long}"}}"#)).unwrap_err();
    assert_eq!(error.field, "message.messageId");
    let error = request(&format!(r#"{{"role":"{long}"}}"#)).unwrap_err();
    assert_eq!(error.reason.chars().count(), MAX_REASON_CHARS + 1);
    assert_eq!(decode::<SendMessageRequest>("[]").unwrap_err().field, "");
}

#[test]
fn c020_a_reply_has_no_empty_members_but_keeps_an_empty_text() {
    let reply = text_reply("r1".into(), "c1".into(), String::new());
    assert_eq!(
        serde_json::to_value(reply).unwrap(),
        json!({ "message": { "messageId": "r1", "contextId": "c1", "role": "ROLE_AGENT", "parts": [{ "text": "" }] } })
    );
}
