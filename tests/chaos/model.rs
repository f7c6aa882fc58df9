//! A model that says which prompts it was shown, after a while: an OpenAI-compatible server for Chat Completions.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper_util::rt::TokioIo;
use rand::RngExt as _;
use serde_json::{Value, json};

/// Starts the model on a free port of loopback; it ends with the test.
pub(crate) async fn start() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let service = hyper::service::service_fn(|request| async {
                    Ok::<_, std::convert::Infallible>(answer(request).await)
                });
                // A killed client is no fault of the model's.
                let _ =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    address
}

async fn answer(request: Request<hyper::body::Incoming>) -> Response<Body> {
    let body = match request.into_body().collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return Response::new(Body::empty()),
    };
    let request: Value = serde_json::from_slice(&body).expect("the request is JSON");
    let seen: Vec<&str> = request["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"].as_str().expect("a text"))
        .collect();
    let pause = rand::rng().random_range(5..120);
    tokio::time::sleep(Duration::from_millis(pause)).await;
    let text = serde_json::to_string(&seen).expect("a list");
    let (first, second) = text.split_at(text.len() / 2);
    let delta = |text| json!({ "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": null }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    let stream = format!("data: {}\n\ndata: {}\n\ndata: {end}\n\ndata: [DONE]\n\n", delta(first), delta(second));
    Response::builder().header("content-type", "text/event-stream").body(Body::from(stream)).expect("a response")
}
