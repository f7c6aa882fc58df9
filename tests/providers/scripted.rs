//! A provider that does exactly what a test says, down to silence and cut connections.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// One thing that an answer's body does.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Sends bytes, as one chunk.
    Send(Bytes),
    /// Cuts the connection.
    Cut,
    /// Is silent for ever.
    Stall,
}

/// An answer to one request.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    status: StatusCode,
    content_type: &'static str,
    /// Silence before the first byte of the response.
    is_mute: bool,
    steps: Vec<Step>,
}

impl Answer {
    /// An event stream that does `steps` and then ends.
    pub(crate) fn stream(steps: Vec<Step>) -> Self {
        Self { status: StatusCode::OK, content_type: "text/event-stream", is_mute: false, steps }
    }

    /// A body with another type or status.
    pub(crate) fn body(status: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let status = StatusCode::from_u16(status).unwrap();
        Self { status, content_type, is_mute: false, steps: vec![Step::Send(body.into())] }
    }

    /// The answer, and then `step`.
    pub(crate) fn then(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// No answer at all.
    pub(crate) fn mute() -> Self {
        Self { is_mute: true, ..Self::stream(Vec::new()) }
    }
}

/// An event of a stream.
pub(crate) fn event(data: &Value) -> Step {
    Step::Send(format!("data: {data}\n\n").into())
}

/// Text of a reply, in the API that is asked for.
pub(crate) fn text(chat: bool, text: &str) -> Step {
    event(&if chat {
        json!({"choices": [{"index": 0, "delta": {"content": text}}]})
    } else {
        json!({"type": "response.output_text.delta", "delta": text})
    })
}

/// The refusal of a model, in the API that is asked for.
pub(crate) fn refusal(chat: bool, text: &str) -> Step {
    event(&if chat {
        json!({"choices": [{"index": 0, "delta": {"refusal": text}}]})
    } else {
        json!({"type": "response.refusal.delta", "delta": text})
    })
}

/// The end of a reply, in the API that is asked for.
pub(crate) fn end(chat: bool) -> Step {
    if chat {
        let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
        Step::Send(format!("data: {last}\n\ndata: [DONE]\n\n").into())
    } else {
        event(&json!({"type": "response.completed", "response": {"status": "completed"}}))
    }
}

/// What is remembered of a request.
struct Request {
    peer: SocketAddr,
    authorization: String,
}

/// The provider.
pub(crate) struct Scripted {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    bodies_dropped: mpsc::UnboundedReceiver<()>,
}

impl Scripted {
    /// A provider that gives `answers` one by one, and 410 after the last.
    pub(crate) async fn start(answers: Vec<Answer>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
        let requests = Arc::<Mutex<Vec<_>>>::default();
        let (dropped, bodies_dropped) = mpsc::unbounded_channel();
        let seen = Arc::clone(&requests);
        let app =
            axum::Router::new().fallback(async move |peer: ConnectInfo<SocketAddr>, headers: HeaderMap, _: Bytes| {
                let authorization = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
                seen.lock().unwrap().push(Request { peer: peer.0, authorization: authorization.unwrap_or_default() });
                let answer = answers.lock().unwrap().pop_front();
                match answer {
                    Some(answer) => perform(answer, DropSignal(dropped.clone())).await,
                    None => StatusCode::GONE.into_response(),
                }
            });
        let service = app.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(axum::serve(listener, service).into_future());
        Self { url, requests, bodies_dropped }
    }

    /// Requests so far.
    pub(crate) fn requests(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// Connections that carried requests so far.
    pub(crate) fn connections(&self) -> usize {
        let mut peers: Vec<_> = self.requests.lock().unwrap().iter().map(|request| request.peer).collect();
        peers.dedup();
        peers.len()
    }

    /// The `Authorization` of each request so far.
    pub(crate) fn authorizations(&self) -> Vec<String> {
        self.requests.lock().unwrap().iter().map(|request| request.authorization.clone()).collect()
    }

    /// Waits until the body of an answer is no longer wanted.
    pub(crate) async fn body_dropped(&mut self) {
        self.bodies_dropped.recv().await.expect("the server lives");
    }
}

/// Reports the end of a body.
struct DropSignal(mpsc::UnboundedSender<()>);

impl Drop for DropSignal {
    fn drop(&mut self) {
        // The test may be over.
        let _ = self.0.send(());
    }
}

async fn perform(answer: Answer, signal: DropSignal) -> Response {
    if answer.is_mute {
        return std::future::pending().await;
    }
    let body = stream::iter(answer.steps).then(move |step| {
        let _held = &signal;
        async {
            // Lets the previous chunk reach the wire by itself.
            tokio::task::yield_now().await;
            match step {
                Step::Send(bytes) => Ok(bytes),
                Step::Cut => Err("cut".into()),
                Step::Stall => Ok::<_, Box<dyn std::error::Error + Send + Sync>>(
                    std::future::pending::<Result<Bytes, Infallible>>().await.unwrap(),
                ),
            }
        }
    });
    (answer.status, [(header::CONTENT_TYPE, answer.content_type)], Body::from_stream(body)).into_response()
}
