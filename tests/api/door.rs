//! Before any agent is asked: addresses, names, origins, media types, and how much is read of a request.

use http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::{params, rpc};
use crate::support::{AGENT, App, KEY, PATIENCE, Server, agent};

/// Sends these bytes and reads until the server closes the connection.
async fn raw(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("the connection is closed").unwrap();
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn the_endpoint_is_found_with_and_without_a_slash_and_below_the_prefix() {
    let server = App::of(AGENT).start().await;
    assert_eq!(server.call().at("/").send(&json!({})).await.code(), 0);
    for path in
        ["/agents/main", "/agents/main/a2a/x", "/agents/main/a2a//", "/api/agents/main/a2a", "/admin/host", "/runtime"]
    {
        assert_eq!(server.get(path).nothing().await.status, 404, "{path}");
    }
    let host_json = r#"{"version": "2.0", "extensions": {"http": {"routePrefix": "api/v1"}}}"#;
    let prefixed = App::of(AGENT).file("host.json", host_json).start().await;
    let call = crate::client::Call::post(prefixed.url("/api/v1/agents/main/a2a")).set("x-functions-key", KEY);
    assert_eq!(call.send(&json!({})).await.code(), 0);
    assert_eq!(prefixed.get("/agents/main/a2a").nothing().await.status, 404);
    for card in ["/api/v1/agents/main/.well-known/agent-card.json", "/.well-known/agent-card.json"] {
        assert_eq!(prefixed.get(card).nothing().await.status, 200, "{card}");
    }
}

#[tokio::test]
async fn c074_the_readiness_probe_is_answered_without_a_key_or_a_known_name() {
    let server = App::of(AGENT).start().await;
    let reply = server.get("/").without("x-functions-key").set("host", "anything.example").nothing().await;
    assert_eq!((reply.status, reply.text.as_str()), (200, ""));
}

#[tokio::test]
async fn c128_json_in_any_form_is_read_and_nothing_else() {
    let server = App::of(AGENT).start().await;
    for media_type in ["application/json; charset=utf-8", "APPLICATION/JSON", "application/a2a+json"] {
        assert_eq!(server.call().set("content-type", media_type).send(&json!({})).await.code(), 0, "{media_type}");
    }
    let only_events = server.call().set("accept", "text/event-stream");
    assert_eq!(only_events.send(&json!({})).await.code(), 0);
    let runs = server.runner.runs();
    let body = rpc("SendMessage", &params(&json!({})));
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let reply = server.call().set("content-type", media_type).body(body.clone()).await;
        assert_eq!((reply.status, reply.code(), reply.id()), (415, -32005, json!(null)), "{media_type}");
    }
    let reply = server.call().without("content-type").body(body).await;
    assert_eq!((reply.status, reply.code()), (415, -32005));
    assert_eq!(server.runner.runs(), runs);
}

#[tokio::test]
async fn c138_a_page_of_another_origin_is_turned_away_before_its_credentials_are_looked_at() {
    let app = App::of(&agent("anonymous", "")).variable("A2A_ALLOWED_ORIGINS", "https://console.example");
    let server = app.start().await;
    for origin in ["https://evil.example", "null", "http://console.example", "https://console.example.evil.example"] {
        let reply = server.call_without_key().set("origin", origin).send(&json!({})).await;
        assert_eq!((reply.status, reply.header("access-control-allow-origin")), (403, None), "{origin}");
    }
    let closed = App::of(AGENT).start().await;
    let reply = closed.call_without_key().set("origin", "https://evil.example").send(&json!({})).await;
    assert_eq!(reply.status, 403, "the origin is judged before the key");
    assert_eq!(server.runner.runs() + closed.runner.runs(), 0);
    let listed = server.call_without_key().set("origin", "https://console.example").send(&json!({})).await;
    assert_eq!((listed.code(), listed.header("access-control-allow-origin")), (0, Some("https://console.example")));
    assert_eq!(server.call_without_key().send(&json!({})).await.code(), 0);
}

#[tokio::test]
async fn c138_a_listed_origin_s_preflight_allows_what_an_a2a_client_sends() {
    let server = App::of(AGENT).variable("A2A_ALLOWED_ORIGINS", "https://console.example").start().await;
    let preflight = |origin: &str| {
        let call = server.get("/agents/main/a2a").without("x-functions-key").method(Method::OPTIONS);
        call.set("origin", origin).set("access-control-request-method", "POST").nothing()
    };
    let allowed = preflight("https://console.example").await;
    assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (204, Some("https://console.example")));
    let headers = allowed.header("access-control-allow-headers").unwrap();
    for name in ["content-type", "x-functions-key", "a2a-version", "a2a-extensions", "idempotency-key"] {
        assert!(headers.contains(name), "{name}");
    }
    assert_eq!(preflight("https://evil.example").await.status, 403);
    // What a page may not read, it is not shown: a refusal is shared like an answer.
    let refused = server.call_without_key().set("origin", "https://console.example").send(&json!({})).await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (401, Some("https://console.example")));
}

#[tokio::test]
async fn c138_a_foreign_name_for_a_local_port_is_turned_away() {
    let server = App::of(&agent("anonymous", "")).start().await;
    for host in ["evil.example", "127.0.0.1.evil.example", "evil.example:7071"] {
        assert_eq!(server.call_without_key().set("host", host).send(&json!({})).await.status, 421, "{host}");
    }
    let absolute = "POST http://evil.example/agents/main/a2a HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    assert!(raw(&server, absolute).await.starts_with("HTTP/1.1 421 "));
    let twice = "GET /agents/main/a2a HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    assert!(raw(&server, twice).await.starts_with("HTTP/1.1 400 "));
    assert_eq!(server.runner.runs(), 0);
}

#[tokio::test]
async fn c078_a_declared_length_over_the_bound_is_refused_before_the_body_comes() {
    let server = App::of(AGENT).start().await;
    let request = format!(
        "POST /agents/main/a2a HTTP/1.1\r\nhost: localhost\r\nx-functions-key: {KEY}\r\na2a-version: 1.0\r\n\
         content-type: application/json\r\ncontent-length: 40000000\r\n\r\n{{"
    );
    let answer = raw(&server, &request).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("262144 bytes at most"), "{answer}");
    assert_eq!(server.call().send(&json!({})).await.code(), 0);
}

#[tokio::test]
async fn c078_a_refusal_reaches_a_client_that_sends_all_before_it_reads() {
    let server = App::of(AGENT).start().await;
    let body = "x".repeat(8 * 1024 * 1024);
    for (path, key, media_type, status) in [
        ("/agents/main/a2a", KEY, "application/json", 413),
        ("/agents/main/a2a", KEY, "text/plain", 415),
        ("/agents/main/a2a", "wrong", "application/json", 401),
        ("/nowhere", KEY, "application/json", 404),
    ] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nx-functions-key: {key}\r\ncontent-type: {media_type}\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        let answer = raw(&server, &(head + &body)).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.ends_with('}'), "the whole answer: {answer}");
    }
}

#[tokio::test]
async fn c079_trace_headers_of_any_shape_harm_nobody() {
    let server = App::of(AGENT).start().await;
    let valid = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let call = || server.call().set("tracestate", "a=1");
    for call in [
        call().set("traceparent", valid),
        call().set("traceparent", "00-not-a-trace"),
        call().set("traceparent", valid).add("traceparent", valid.as_bytes()),
        call().add("traceparent", b"\xff"),
    ] {
        assert_eq!(call.send(&json!({})).await.code(), 0);
    }
    // Two callers with one trace stay two callers, and a repeat needs more than the same trace.
    assert_eq!(server.runner.runs(), 4);
}

#[tokio::test]
async fn a_request_is_read_within_bounds_of_its_headers() {
    let server = App::of(AGENT).start().await;
    let long = format!("GET / HTTP/1.1\r\nhost: localhost\r\nx-long: {}\r\n\r\n", "x".repeat(64 * 1024));
    let many = (0..150).map(|index| format!("x-{index}: 1")).collect::<Vec<_>>().join("\r\n");
    let many = format!("GET / HTTP/1.1\r\nhost: localhost\r\n{many}\r\n\r\n");
    for request in [long, many] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        // The server may close the connection before it has read all.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.expect("the connection is closed");
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
    assert_eq!(server.call().send(&json!({})).await.code(), 0);
}
