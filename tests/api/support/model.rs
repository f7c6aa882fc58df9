//! A model behind HTTP that a test holds back: an OpenAI-compatible server for Chat Completions.

use std::future::IntoFuture as _;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::http::HeaderMap;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use super::PATIENCE;

/// The model; it ends with the test.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) url: String,
    gate: Arc<Semaphore>,
    started: watch::Sender<usize>,
    authorizations: Arc<Mutex<Vec<String>>>,
}

impl Model {
    /// A model that answers with all that the caller has said, one turn for each [`Model::answer`].
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let gate = Arc::new(Semaphore::new(0));
        let model = Self { url, gate, started: watch::Sender::new(0), authorizations: Arc::default() };
        let own = model.clone();
        let app =
            axum::Router::new().fallback(async move |headers: HeaderMap, body: Bytes| own.reply(&headers, &body).await);
        tokio::spawn(axum::serve(listener, app).into_future());
        model
    }

    /// Lets so many turns be answered.
    pub(crate) fn answer(&self, turns: usize) {
        self.gate.add_permits(turns);
    }

    /// Waits until so many turns were asked for.
    pub(crate) async fn started(&self, turns: usize) {
        let mut started = self.started.subscribe();
        let started = timeout(PATIENCE, started.wait_for(|started| *started >= turns)).await;
        started.unwrap_or_else(|_| panic!("{turns} turns were never asked for")).unwrap();
    }

    /// Turns that were asked for.
    pub(crate) fn turns(&self) -> usize {
        *self.started.borrow()
    }

    /// The `Authorization` of each request.
    pub(crate) fn authorizations(&self) -> Vec<String> {
        self.authorizations.lock().unwrap().clone()
    }

    async fn reply(&self, headers: &HeaderMap, body: &Bytes) -> ([(&'static str, &'static str); 1], String) {
        let authorization = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
        self.authorizations.lock().unwrap().push(authorization.unwrap_or_default());
        self.started.send_modify(|started| *started += 1);
        self.gate.acquire().await.unwrap().forget();
        let request: Value = serde_json::from_slice(body).unwrap();
        let messages = request["messages"].as_array().unwrap();
        let users = messages.iter().filter(|message| message["role"] == "user");
        let said: Vec<_> = users.map(|message| message["content"].as_str().unwrap()).collect();
        let text = serde_json::to_string(&said).unwrap();
        let delta = json!({ "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": null }] });
        let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
        ([("content-type", "text/event-stream")], format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n"))
    }
}
