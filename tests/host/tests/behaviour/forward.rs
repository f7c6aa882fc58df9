//! Forward mode: what is rebuilt, what is lost, and that nothing streams.

use serde_json::json;

use crate::support::{App, Running, Seen, behave, client, get, printed, raw, seen_target};

async fn host() -> Running {
    let document = json!({
        "version": "2.0",
        "customHandler": {"description": {"defaultExecutablePath": "handler"}, "enableForwardingHttpRequest": true},
    });
    App::with_host_json(&document).http("all", "{*rest}", "anonymous").start().await
}

#[tokio::test]
async fn the_path_keeps_its_prefix_and_the_query_is_rebuilt() {
    let host = host().await;
    let cases = [
        ("/api/a/b", "/api/a/b"),
        ("/api/%61", "/api/a"),
        ("/api/a%2Fb", "/api/a%2Fb"),
        ("/api/a%3Fb/c", "/api/a"),
        ("/api/x/../y", "/api/y"),
        ("/api/q?b=1&a=2&b=3", "/api/q?b=1%2C3&a=2"),
        ("/api/q?flag", "/api/q?flag="),
        ("/api/q?t=a+b%20c", "/api/q?t=a%20b%20c"),
        ("/api/q?code=secret", "/api/q?code=secret"),
    ];
    for (target, expected) in cases {
        assert_eq!(seen_target(host.base_url(), target).await.text("target"), expected, "{target}");
    }
}

#[tokio::test]
async fn headers_pass_except_those_of_the_content() {
    let host = host().await;
    let passing = [
        ("host", "public.example"),
        ("authorization", "Bearer t"),
        ("cookie", "a=1"),
        ("x-functions-key", "k"),
        ("x-forwarded-for", "198.51.100.1"),
        ("x-arr-log-id", "1"),
        ("x-ms-client-principal", "p"),
        ("content-type", "text/plain"),
    ];
    let lost = ["content-encoding", "content-language", "content-disposition", "content-md5", "expires", "allow"];
    let mut request = client().post(format!("{}/api/x", host.base_url())).body("hello");
    for (name, value) in passing {
        request = request.header(name, value);
    }
    for name in lost {
        request = request.header(name, "1");
    }
    let seen = Seen::from(request.send().await.unwrap()).await;
    for (name, value) in passing {
        assert_eq!(seen.header(name), value, "{name}");
    }
    for name in lost {
        assert!(seen.headers(name).is_empty(), "{name}");
    }
    assert_eq!((seen.text("body"), seen.header("content-length")), ("hello", "5"));
    assert!(seen.headers("x-forwarded-host").is_empty() && seen.headers("x-ms-invocation-id").is_empty());
}

#[tokio::test]
async fn the_hosts_headers_are_added_behind_those_of_the_client() {
    let host = host().await;
    let request = client()
        .get(format!("{}/api/x", host.base_url()))
        .header("x-azure-functions-invocationid", "forged")
        .header("user-agent", "mine/1");
    let seen = Seen::from(request.send().await.unwrap()).await;
    let (first, last) = seen.header("x-azure-functions-invocationid").split_once(", ").unwrap();
    assert_eq!((first, last.len()), ("forged", 36));
    assert!(seen.header("user-agent").starts_with("mine/1 Azure-Functions-Host/4."));
    let seen = Seen::from(get(format!("{}/api/x", host.base_url())).await).await;
    assert!(seen.header("user-agent").starts_with("Azure-Functions-Host/4."));
    assert_eq!(seen.header("traceparent").len(), 55);
}

#[tokio::test]
async fn a_body_passes_only_with_a_length() {
    let host = host().await;
    let chunked = "POST /api/x HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n\
                   3\r\nabc\r\n0\r\n\r\n";
    assert!(raw(host.base_url(), chunked).await.starts_with("HTTP/1.1 500"));
    let empty = "POST /api/x HTTP/1.1\r\nhost: t\r\ncontent-length: 0\r\ncontent-type: text/plain\r\n\
                 connection: close\r\n\r\n";
    let answer = raw(host.base_url(), empty).await;
    let seen = Seen(serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap());
    assert!(seen.headers("content-type").is_empty(), "a content header without content");
}

#[tokio::test]
async fn nothing_arrives_before_the_whole_response_is_there() {
    let host = host().await;
    let url = format!("{}/api/x", host.base_url());
    let request = behave(&url, "stream");
    let waiting = tokio::spawn(async move { request.send().await.unwrap() });
    printed(&host, "stream opened").await;
    Seen::from(get(&url).await).await;
    assert!(!waiting.is_finished(), "not even the head of the response");
    behave(&url, "release").send().await.unwrap();
    let response = waiting.await.unwrap();
    assert_eq!(response.headers()["content-length"], "8");
    assert!(!response.headers().contains_key("transfer-encoding"));
    assert_eq!(response.text().await.unwrap(), "one\ntwo\n");
}

#[tokio::test]
async fn the_response_is_relayed_as_it_is() {
    let host = host().await;
    let url = format!("{}/api/x", host.base_url());
    for status in [204, 302, 404, 418, 503] {
        assert_eq!(behave(&url, &format!("status:{status}")).send().await.unwrap().status(), status);
    }
    let response = behave(&url, "redirect").send().await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["location"]), (302, &"/elsewhere".parse().unwrap()));
    let response = behave(&url, "headers").send().await.unwrap();
    assert_eq!(response.headers().get_all("set-cookie").iter().collect::<Vec<_>>(), ["a=1", "b=2"]);
    assert_eq!(response.headers()["content-encoding"], "identity");
    assert_eq!(response.text().await.unwrap(), "with headers");
    let reason = "GET /api/x HTTP/1.1\r\nhost: t\r\nx-behave: reason\r\nconnection: close\r\n\r\n";
    assert!(raw(host.base_url(), reason).await.starts_with("HTTP/1.1 200 Fine By Me\r\n"));
}

#[tokio::test]
async fn a_handler_that_breaks_off_is_an_empty_500_without_retries() {
    let host = host().await;
    let url = format!("{}/api/x", host.base_url());
    for behaviour in ["cut", "drop", "drop-first:3", "exit:0", "echo"] {
        let response = behave(&url, behaviour).send().await.unwrap();
        assert_eq!(response.status(), 500, "{behaviour}");
        assert_eq!(response.text().await.unwrap(), "", "{behaviour}");
    }
    assert_eq!(host.starts(0), 1, "exit code 0 is final, so the last request was refused");
}
