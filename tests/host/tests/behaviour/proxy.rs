//! Proxy mode: what reaches the handler and what comes back.

use std::time::{Duration, Instant};

use crate::support::{Running, Seen, behave, catch_all, client, get, raw, seen_target};

async fn host() -> Running {
    catch_all().start().await
}

#[tokio::test]
async fn the_query_passes_verbatim_and_the_path_is_decoded_and_encoded_again() {
    let host = host().await;
    let cases = [
        ("/a/b?x=1&x=2&flag&y=a+b%20c", "/a/b?x=1&x=2&flag&y=a+b%20c"),
        ("/api/chat", "/api/chat"),
        ("/%61b", "/ab"),
        ("/a%2Fb", "/a%252Fb"),
        ("/a/../b", "/b"),
        ("/a%20b", "/a%20b"),
        ("/tasks/1:cancel", "/tasks/1:cancel"),
        ("/.well-known/agent-card.json", "/.well-known/agent-card.json"),
        ("/?code=secret", "/?code=secret"),
    ];
    for (target, expected) in cases {
        assert_eq!(seen_target(host.base_url(), target).await.text("target"), expected, "{target}");
    }
}

#[tokio::test]
async fn the_host_sets_its_own_headers_over_those_of_the_client() {
    let host = host().await;
    let request = client()
        .post(format!("{}/x", host.base_url()))
        .header("x-azure-functions-invocationid", "forged")
        .header("x-ms-invocation-id", "forged")
        .header("x-azure-functions-hostversion", "forged")
        .header("x-forwarded-for", "198.51.100.1")
        .header("x-forwarded-host", "forged")
        .header("x-forwarded-proto", "forged")
        .header("x-forwarded-prefix", "forged")
        .header("forwarded", "for=forged")
        .header("host", "public.example")
        .body("hello");
    let seen = Seen::from(request.send().await.unwrap()).await;
    let handler = host.handler_url(0).unwrap();
    assert_eq!(seen.header("host"), handler.strip_prefix("http://").unwrap());
    assert_eq!(seen.header("x-forwarded-for"), "127.0.0.1");
    assert_eq!(seen.header("x-forwarded-host"), "public.example");
    assert_eq!(seen.header("x-forwarded-proto"), "http");
    assert_eq!(seen.headers("x-forwarded-prefix").len() + seen.headers("forwarded").len(), 0);
    assert_eq!(seen.header("x-ms-invocation-id"), seen.header("x-azure-functions-invocationid"));
    assert_eq!(seen.header("x-ms-invocation-id").len(), 36);
    assert!(seen.header("x-azure-functions-hostversion").starts_with("4."));
    assert_eq!((seen.text("method"), seen.text("body")), ("POST", "hello"));
}

#[tokio::test]
async fn everything_else_passes_and_hop_by_hop_headers_do_not() {
    let host = host().await;
    let passing = [
        ("authorization", "Bearer t"),
        ("cookie", "a=1"),
        ("x-functions-key", "k"),
        ("x-ms-client-principal", "p"),
        ("user-agent", "mine/1"),
        ("content-encoding", "br"),
        ("content-language", "en"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("a2a-version", "1.0"),
    ];
    let stopped = ["keep-alive", "te", "upgrade-insecure-requests", "proxy-authorization", "alt-svc", "http2-settings"];
    let mut request = client().post(format!("{}/x", host.base_url())).body("x");
    for (name, value) in passing {
        request = request.header(name, value);
    }
    for name in stopped {
        request = request.header(name, "1");
    }
    let seen = Seen::from(request.send().await.unwrap()).await;
    for (name, value) in passing {
        assert_eq!(seen.header(name), value, "{name}");
    }
    for name in stopped {
        assert!(seen.headers(name).is_empty(), "{name}");
    }
}

#[tokio::test]
async fn repeated_headers_arrive_on_one_line() {
    let host = host().await;
    let request =
        "GET / HTTP/1.1\r\nhost: t\r\nx-a: 1\r\nx-a: 2\r\ncookie: c=1\r\ncookie: d=2\r\nconnection: close\r\n\r\n";
    let answer = raw(host.base_url(), request).await;
    let seen = Seen(serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap());
    assert_eq!(seen.header("x-a"), "1, 2");
    assert_eq!(seen.header("cookie"), "c=1; d=2");
}

#[tokio::test]
async fn a_trace_is_started_when_the_client_has_none() {
    let host = host().await;
    let seen = Seen::from(get(format!("{}/", host.base_url())).await).await;
    assert_eq!(seen.header("traceparent").len(), 55);
}

#[tokio::test]
async fn the_response_is_relayed_as_it_is() {
    let host = host().await;
    let url = format!("{}/", host.base_url());
    for status in [200, 204, 302, 400, 404, 418, 500, 503] {
        let response = behave(&url, &format!("status:{status}")).send().await.unwrap();
        assert_eq!(response.status(), status);
    }
    let response = behave(&url, "redirect").send().await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["location"]), (302, &"/elsewhere".parse().unwrap()));

    let response = behave(&url, "headers").send().await.unwrap();
    let cookies: Vec<_> = response.headers().get_all("set-cookie").iter().collect();
    assert_eq!(cookies, ["a=1", "b=2"]);
    assert_eq!(response.headers()["x-own"], "kept");
    assert_eq!(response.headers()["content-encoding"], "identity");
    assert!(!response.headers().contains_key("alt-svc") && !response.headers().contains_key("keep-alive"));
    assert_eq!(response.text().await.unwrap(), "with headers");
}

#[tokio::test]
async fn the_reason_phrase_is_relayed() {
    let host = host().await;
    let request = "GET / HTTP/1.1\r\nhost: t\r\nx-behave: reason\r\nconnection: close\r\n\r\n";
    assert!(raw(host.base_url(), request).await.starts_with("HTTP/1.1 200 Fine By Me\r\n"));
}

#[tokio::test]
async fn a_chunked_request_stays_chunked() {
    let host = host().await;
    let request =
        "POST / HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let answer = raw(host.base_url(), request).await;
    let seen = Seen(serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap());
    assert_eq!(seen.text("body"), "abc");
    assert_eq!(seen.header("transfer-encoding"), "chunked");
    assert!(seen.headers("content-length").is_empty());
}

#[tokio::test]
async fn a_dropped_connection_is_retried_with_growing_pauses() {
    let host = host().await;
    let url = format!("{}/", host.base_url());
    let start = Instant::now();
    let response = behave(&url, "drop-first:3").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(start.elapsed() >= Duration::from_millis(350), "50, 100 and 200 ms come first");
}

#[tokio::test]
async fn after_ten_attempts_the_client_sees_an_empty_500() {
    let host = host().await;
    let start = Instant::now();
    let response = behave(&format!("{}/", host.base_url()), "drop").send().await.unwrap();
    assert_eq!(response.status(), 500);
    assert_eq!(response.text().await.unwrap(), "");
    assert!(start.elapsed() >= Duration::from_millis(1850));
}

#[tokio::test]
async fn a_body_that_was_read_is_not_sent_again() {
    let host = host().await;
    let request = client().post(host.base_url()).header("x-behave", "drop-first:1").body("x".repeat(100_000));
    let first = request.try_clone().unwrap().send().await.unwrap();
    assert_eq!(first.status(), 500, "a second attempt would have been answered");
    let second = Seen::from(request.send().await.unwrap()).await;
    assert_eq!(second.text("body").len(), 100_000);
}
