//! Streams through the proxy: both ways, cut short, silent, abandoned.

use std::time::{Duration, Instant};

use functions_test_host::Knobs;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

use crate::support::{PATIENCE, behave, catch_all, connect, printed, raw};

#[tokio::test]
async fn each_part_of_a_response_arrives_before_the_next_is_sent() {
    let host = catch_all().start().await;
    let url = format!("{}/", host.base_url());
    let mut response = behave(&url, "stream").send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.chunk().await.unwrap().unwrap(), "one\n");
    behave(&url, "release").send().await.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "two\n");
    assert_eq!(response.chunk().await.unwrap(), None);
}

#[tokio::test]
async fn a_request_body_streams_while_the_response_streams() {
    let host = catch_all().start().await;
    let mut stream = connect(host.base_url()).await;
    let head =
        "POST / HTTP/1.1\r\nhost: t\r\nx-behave: mirror\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    stream.write_all(format!("{head}4\r\nping\r\n").as_bytes()).await.unwrap();
    let mut seen = String::new();
    while !seen.contains("ping") {
        let mut buffer = [0; 1024];
        let count = timeout(PATIENCE, stream.read(&mut buffer)).await.unwrap().unwrap();
        assert!(count > 0, "closed after {seen}");
        seen.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    stream.write_all(b"4\r\npong\r\n0\r\n\r\n").await.unwrap();
    let mut rest = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut rest)).await.unwrap().unwrap();
    assert!(rest.contains("pong"), "{rest}");
}

#[tokio::test]
async fn a_client_that_goes_away_closes_the_handlers_connection() {
    let host = catch_all().start().await;
    let mut response = behave(host.base_url(), "quiet").send().await.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "one\n");
    drop(response);
    printed(&host, "client went away").await;
}

#[tokio::test]
async fn a_response_cut_in_the_middle_reaches_the_client_truncated() {
    let host = catch_all().start().await;
    let answer = raw(host.base_url(), "GET / HTTP/1.1\r\nhost: t\r\nx-behave: cut\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(!answer.ends_with("0\r\n\r\n"), "the last chunk must be missing: {answer}");
}

#[tokio::test]
async fn silence_beyond_the_inactivity_limit_cuts_the_stream() {
    let knobs = Knobs { proxy_inactivity: Duration::from_secs(1), ..Knobs::default() };
    let host = catch_all().start_with(|host| host.knobs(knobs)).await;
    let start = Instant::now();
    let mut response = behave(host.base_url(), "quiet").send().await.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "one\n");
    assert!(response.chunk().await.is_err());
    assert!(start.elapsed() >= Duration::from_secs(1));

    let response = behave(host.base_url(), "hang").send().await.unwrap();
    assert_eq!(response.status(), 500);
    assert_eq!(host.starts(0), 1, "an idle stream is no reason to restart the handler");
}

#[tokio::test]
async fn the_function_timeout_cuts_a_stream_and_replaces_the_handler() {
    let knobs = Knobs { function_timeout: Some(Duration::from_secs(1)), ..Knobs::default() };
    let host = catch_all().start_with(|host| host.knobs(knobs)).await;
    let first = host.handler_pid(0);
    let mut response = behave(host.base_url(), "quiet").send().await.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), "one\n");
    assert!(response.chunk().await.is_err());
    let response = behave(host.base_url(), "echo").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(host.starts(0), 2);
    assert_ne!(host.handler_pid(0), first);
}
