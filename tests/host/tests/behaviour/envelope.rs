//! Envelope mode: what is posted to the handler.

use functions_test_host::{Knobs, Profile};
use serde_json::{Value, json};

use crate::support::{App, Running, client, get, http_function, raw, seen_envelope};

async fn host() -> Running {
    App::envelope().http("chat", "agents/{slug}/{tail?}", "anonymous").start().await
}

fn url(host: &Running) -> String {
    format!("{}/api/agents/main", host.base_url())
}

#[tokio::test]
async fn a_request_becomes_binding_data() {
    let host = host().await;
    let request = client()
        .put(format!("{}?a=1&a=2&flag", url(&host)))
        .header("host", "public.example")
        .header("x-functions-key", "k")
        .header("content-type", "text/plain")
        .body("hello");
    let seen = seen_envelope(request.send().await.unwrap()).await;
    assert_eq!((seen["path"].as_str().unwrap(), &seen["has_length"]), ("/chat", &json!(true)));
    let http = &seen["envelope"]["Data"]["req"];
    assert_eq!(http["Url"], "http://public.example/api/agents/main?a=1&a=2&flag");
    assert_eq!(http["Method"], "PUT");
    assert_eq!(http["Query"], json!({"a": "1,2", "flag": ""}));
    assert_eq!(http["Headers"]["X-Functions-Key"], json!(["k"]));
    assert_eq!(http["Headers"]["Content-Type"], json!(["text/plain"]));
    assert_eq!(http["Params"], json!({"slug": "main", "tail": null}));
    assert_eq!(http["Body"], "hello");
    let metadata = &seen["envelope"]["Metadata"];
    assert_eq!(metadata["slug"], "\"main\"", "texts are encoded twice");
    assert_eq!(metadata["a"], "\"1,2\"");
    assert_eq!(metadata["sys"]["MethodName"], "chat");
    assert!(metadata.get("req").is_none() && metadata.get("tail").is_none());
}

#[tokio::test]
async fn bodies_are_text_or_base64_and_lost_without_a_length() {
    let host = host().await;
    let cases = [
        ("application/json", json!("{\"a\":1}"), "{\"a\":1}"),
        ("application/octet-stream", json!("YWJj"), "abc"),
        ("multipart/form-data; boundary=b", json!("YWJj"), "abc"),
        ("", json!("abc"), "abc"),
        ("text/plain", Value::Null, ""),
    ];
    for (media_type, expected, body) in cases {
        let mut request = client().post(url(&host)).body(body);
        if !media_type.is_empty() {
            request = request.header("content-type", media_type);
        }
        let seen = seen_envelope(request.send().await.unwrap()).await;
        assert_eq!(seen["envelope"]["Data"]["req"]["Body"], expected, "{media_type} {body}");
    }
    let chunked = "POST /api/agents/main HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n\
                   3\r\nabc\r\n0\r\n\r\n";
    let answer = raw(host.base_url(), chunked).await;
    let seen: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(seen["envelope"]["Data"]["req"].get("Body"), None);
}

#[tokio::test]
async fn an_envelope_can_be_sent_in_chunks() {
    let knobs = Knobs { chunked_envelopes: true, ..Knobs::default() };
    let app = App::envelope().http("chat", "agents/{slug}", "anonymous");
    let host = app.start_with(|host| host.knobs(knobs)).await;
    let seen = seen_envelope(get(url(&host)).await).await;
    assert_eq!((&seen["has_length"], seen["path"].as_str()), (&json!(false), Some("/chat")));
}

#[tokio::test]
async fn identities_tell_the_key_level_and_its_name() {
    let keys = serde_json::from_value(json!({"host": {"default": "h"}})).unwrap();
    let app = App::envelope().http("open", "open", "anonymous").http("closed", "closed", "function");
    let host = app.start_with(|host| host.profile(Profile::Azure).keys(keys)).await;
    let identities = async |path: &str| {
        let seen = seen_envelope(get(format!("{}/api/{path}", host.base_url())).await).await;
        seen["envelope"]["Data"]["req"]["Identities"].clone()
    };
    assert_eq!(identities("open").await, json!([]));
    assert_eq!(identities("open?code=wrong").await, json!([]));
    let found = identities("closed?code=h").await;
    let claims: Vec<&str> =
        found[0]["Claims"].as_array().unwrap().iter().map(|claim| claim["Value"].as_str().unwrap()).collect();
    assert_eq!(claims, ["Function", "default"]);
}

#[tokio::test]
async fn a_second_binding_forces_the_envelope_in_every_mode() {
    let mut document = http_function(&json!({"route": "f", "authLevel": "anonymous"}));
    let extra = [
        json!({"type": "table", "direction": "in", "name": "row"}),
        json!({"type": "queue", "direction": "out", "name": "jobs"}),
    ];
    document["bindings"].as_array_mut().unwrap().extend(extra);
    for mode in ["enableProxyingHttpRequest", "enableForwardingHttpRequest"] {
        let app = App::new(json!({"enableProxyingHttpRequest": false, mode: true})).function("f", &document);
        let host = app.start_with(|host| host.input("f", "row", json!([{"RowKey": "1"}]))).await;
        let seen = seen_envelope(get(format!("{}/f", host.base_url())).await).await;
        assert_eq!(seen["path"], "/f", "{mode}");
        assert_eq!(seen["envelope"]["Data"]["row"], r#"[{"RowKey":"1"}]"#, "a list is a text that holds JSON");
    }
}
