//! Limits of the host: body size, concurrency, and what failures look like from outside.

use functions_test_host::Knobs;
use serde_json::json;
use tokio::time::timeout;

use crate::support::{App, PATIENCE, behave, catch_all, client, get, raw};

#[tokio::test]
async fn a_body_over_the_limit_is_an_empty_500_in_every_mode() {
    let modes = [
        json!({}),
        json!({"enableProxyingHttpRequest": false, "enableForwardingHttpRequest": true}),
        json!({"enableProxyingHttpRequest": false}),
    ];
    for mode in modes {
        let app = App::new(mode.clone()).http("f", "f", "anonymous");
        let host = app.start_with(|host| host.knobs(Knobs { body_limit: Some(1000), ..Knobs::default() })).await;
        let url = format!("{}/f", host.base_url());
        for (length, status) in [(1000, 200), (1001, 500)] {
            let response = client().post(&url).body("x".repeat(length)).send().await.unwrap();
            assert_eq!(response.status(), status, "{length} bytes, {mode}");
            if status == 500 {
                assert_eq!(response.text().await.unwrap(), "");
            }
        }
        assert_eq!(host.starts(0), 1);
    }
}

#[tokio::test]
async fn a_chunked_body_is_cut_at_the_limit_of_the_environment() {
    let host = catch_all().start_with(|host| host.env("FUNCTIONS_REQUEST_BODY_SIZE_LIMIT", "4")).await;
    let send = async |chunks: &str| {
        let head = "POST / HTTP/1.1\r\nhost: t\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
        raw(host.base_url(), &format!("{head}{chunks}0\r\n\r\n")).await
    };
    assert!(send("4\r\nabcd\r\n").await.starts_with("HTTP/1.1 200"));
    assert!(send("4\r\nabcd\r\n1\r\ne\r\n").await.starts_with("HTTP/1.1 500"));
}

fn throttled(limits: &serde_json::Value) -> App {
    let mut http = limits.clone();
    http["routePrefix"] = json!("");
    let document = json!({
        "version": "2.0",
        "extensions": {"http": http},
        "customHandler": {"description": {"defaultExecutablePath": "handler"}, "enableProxyingHttpRequest": true},
    });
    App::with_host_json(&document).http("all", "{*rest}", "anonymous")
}

#[tokio::test]
async fn more_than_the_outstanding_requests_are_turned_away_until_one_ends() {
    let host = throttled(&json!({"maxOutstandingRequests": 1})).start().await;
    let mut stream = behave(host.base_url(), "stream").send().await.unwrap();
    assert_eq!(stream.chunk().await.unwrap().unwrap(), "one\n");
    let refused = get(host.base_url()).await;
    assert_eq!((refused.status().as_u16(), &refused.headers()["x-function-scaleout"]), (429, &"1".parse().unwrap()));
    assert_eq!(refused.text().await.unwrap(), "");
    // Around the host, which lets nothing more in.
    behave(&host.handler_url(0).unwrap(), "release").send().await.unwrap();
    assert_eq!(stream.text().await.unwrap(), "two\n");
    let freed = async { while get(host.base_url()).await.status() == 429 {} };
    timeout(PATIENCE, freed).await.unwrap();
}

#[tokio::test]
async fn more_than_the_concurrent_requests_wait_for_their_turn() {
    let host = throttled(&json!({"maxConcurrentRequests": 1})).start().await;
    let mut stream = behave(host.base_url(), "stream").send().await.unwrap();
    assert_eq!(stream.chunk().await.unwrap().unwrap(), "one\n");
    let waiting = tokio::spawn(get(host.base_url().to_owned()));
    assert_eq!(get(format!("{}/admin/host/ping", host.base_url())).await.status(), 200);
    assert!(!waiting.is_finished());
    behave(&host.handler_url(0).unwrap(), "release").send().await.unwrap();
    assert_eq!(stream.text().await.unwrap(), "two\n");
    assert_eq!(waiting.await.unwrap().status(), 200);
}

#[tokio::test]
async fn requests_wait_for_the_replacement_of_a_crashed_handler() {
    let host = catch_all().start_with(|host| host.knobs(Knobs { strike_limit: 20, ..Knobs::default() })).await;
    for round in 2..=8 {
        host.kill_handler(0).await;
        assert_eq!(timeout(PATIENCE, get(host.base_url())).await.unwrap().status(), 200);
        assert_eq!(host.starts(0), round);
    }
}
