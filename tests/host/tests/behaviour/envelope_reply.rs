//! Envelope mode: what the host makes of the handler's answer.

use std::time::{Duration, Instant};

use functions_test_host::{Knobs, LogLevel, LogSource, OutputValue};
use serde_json::{Value, json};

use crate::support::{App, Running, client, http_function, logged};

async fn host() -> Running {
    App::envelope().http("f", "f", "anonymous").start().await
}

/// Has the handler answer an envelope with this text, status and media type.
async fn reply(host: &Running, status: u16, media_type: &str, text: &str) -> reqwest::Response {
    let body = json!({"reply": {"status": status, "type": media_type, "text": text}});
    client().post(format!("{}/api/f", host.base_url())).json(&body).send().await.unwrap()
}

async fn json_reply(host: &Running, document: &Value) -> reqwest::Response {
    reply(host, 200, "application/json", &document.to_string()).await
}

#[tokio::test]
async fn the_http_output_becomes_the_response() {
    let host = host().await;
    let res = |output: Value| json!({"Outputs": {"res": output}});
    let cases = [
        (res(json!({})), 200, ""),
        (res(json!({"statusCode": 201, "status": 500, "body": "text"})), 201, "text"),
        (res(json!({"status": "202", "body": null})), 202, ""),
        (res(json!({"STATUSCODE": "404", "Body": "gone"})), 404, "gone"),
        (res(json!({"body": {"a": [1]}})), 200, "{\n  \"a\": [\n    1\n  ]\n}"),
        (res(json!({"body": true})), 200, "True"),
        (res(json!({"body": 7})), 200, "7"),
        (res(json!("{\"statusCode\": 203, \"body\": \"inner\"}")), 203, "inner"),
        (json!({"outputs": {"RES": {"body": "any case"}}}), 200, "any case"),
        (json!({}), 200, ""),
        (json!({"Outputs": {}}), 200, "{}"),
        (json!({"ReturnValue": {"res": {"statusCode": 206}}}), 206, ""),
    ];
    for (document, status, body) in cases {
        let response = json_reply(&host, &document).await;
        assert_eq!(response.status(), status, "{document}");
        assert_eq!(response.text().await.unwrap(), body, "{document}");
    }
}

#[tokio::test]
async fn headers_come_from_the_output_and_the_content_type_is_text_otherwise() {
    let host = host().await;
    let response = json_reply(&host, &json!({"Outputs": {"res": {"body": {"a": 1}}}})).await;
    assert_eq!(response.headers()["content-type"], "text/plain; charset=utf-8");
    let headers = json!({"Content-Type": "application/json", "X-Own": "1", "Content-Length": "99"});
    let response = json_reply(&host, &json!({"Outputs": {"res": {"body": "{}", "headers": headers}}})).await;
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.headers()["x-own"], "1");
    assert_eq!(response.headers()["content-length"], "2");
}

#[tokio::test]
async fn what_is_no_valid_answer_is_an_empty_500() {
    let host = host().await;
    let fine = json!({}).to_string();
    let res = |output: Value| json!({"Outputs": {"res": output}}).to_string();
    let cases = [
        (500, "application/json", fine.clone()),
        (404, "application/json", fine.clone()),
        (302, "application/json", fine.clone()),
        (200, "text/plain", fine.clone()),
        (200, "application/problem+json", fine),
        (200, "application/json", "not json".to_owned()),
        (200, "application/json", "[]".to_owned()),
        (200, "application/json", json!({"Outputs": []}).to_string()),
        (200, "application/json", json!({"Logs": "one"}).to_string()),
        (200, "application/json", res(json!("bare text"))),
        (200, "application/json", res(json!(5))),
        (200, "application/json", res(json!({"statusCode": "fine"}))),
        (200, "application/json", res(json!({"headers": {"content-type": null}}))),
    ];
    for (status, media_type, text) in cases {
        let response = reply(&host, status, media_type, &text).await;
        assert_eq!(response.status(), 500, "{status} {media_type} {text}");
        assert_eq!(response.text().await.unwrap(), "");
    }
    assert_eq!(reply(&host, 201, "text/json; charset=utf-8", "{}").await.status(), 200);
}

#[tokio::test]
async fn an_answer_of_nothing_hangs_until_the_function_timeout() {
    let limit = Duration::from_millis(300);
    let knobs = Knobs { function_timeout: Some(limit), ..Knobs::default() };
    let host = App::envelope().http("f", "f", "anonymous").start_with(|host| host.knobs(knobs)).await;
    for text in ["null", ""] {
        let start = Instant::now();
        assert_eq!(reply(&host, 200, "application/json", text).await.status(), 500, "{text:?}");
        assert!(start.elapsed() >= limit, "{text:?}");
    }
    host.ready().await.unwrap();
    assert_eq!((host.starts(0), host.stopped(0)), (3, None));
}

#[tokio::test]
async fn logs_of_the_answer_are_logged() {
    let host = host().await;
    json_reply(&host, &json!({"Logs": ["from the handler"]})).await;
    let line = logged(&host, |line| line.text == "from the handler").await;
    assert_eq!((line.source, line.level), (LogSource::Host, LogLevel::Information));
}

#[tokio::test]
async fn other_outputs_are_kept_and_text_that_looks_like_base64_is_decoded() {
    let mut document = http_function(&json!({"route": "f", "authLevel": "anonymous"}));
    let outputs = [
        json!({"type": "queue", "direction": "out", "name": "text"}),
        json!({"type": "queue", "direction": "out", "name": "object"}),
        json!({"type": "blob", "direction": "out", "name": "binary", "dataType": "binary"}),
        json!({"type": "queue", "direction": "out", "name": "unused"}),
        json!({"type": "table", "direction": "out", "name": "$return"}),
    ];
    document["bindings"].as_array_mut().unwrap().extend(outputs);
    let host = App::envelope().function("f", &document).start().await;
    let outputs = json!({"text": "abcd", "object": {"a": 1}, "binary": "abcd", "res": {"body": "ok"}});
    let response = json_reply(&host, &json!({"Outputs": outputs, "ReturnValue": [1]})).await;
    assert_eq!(response.text().await.unwrap(), "ok");
    let written = host.outputs();
    let seen: Vec<_> = written.iter().map(|output| (output.binding.as_str(), output.value.clone())).collect();
    let expected = [
        ("text", OutputValue::Bytes(vec![0x69, 0xb7, 0x1d])),
        ("object", OutputValue::Json(json!({"a": 1}))),
        ("binary", OutputValue::Json(json!("abcd"))),
        ("$return", OutputValue::Json(json!([1]))),
    ];
    assert_eq!(seen, expected);
}
