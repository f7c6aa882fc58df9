//! A stand-in for the Lambda runtime, and the program under it.

use std::collections::HashMap;
use std::future::IntoFuture as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::events::Event;
use crate::support::{PATIENCE, Program, folder};

/// A function of Lambda; dropping it ends the program.
pub(super) struct Lambda {
    program: Program,
    events: mpsc::UnboundedSender<(String, Value)>,
    waiting: Waiting,
    count: AtomicU32,
    _folder: TempDir,
}

type Waiting = Arc<Mutex<HashMap<String, oneshot::Sender<Result<Value, String>>>>>;

#[derive(Clone)]
struct Runtime {
    events: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<(String, Value)>>>,
    waiting: Waiting,
}

/// What the function gave back for one event.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) request_id: String,
    response: Value,
}

impl Lambda {
    /// Starts the program for an app of one agent that opens for `key`.
    pub(super) async fn start(agent: &str, key: &str) -> Self {
        let (events, receiver) = mpsc::unbounded_channel();
        let waiting = Waiting::default();
        let runtime = Runtime { events: Arc::new(tokio::sync::Mutex::new(receiver)), waiting: Arc::clone(&waiting) };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let app = axum::Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(answered))
            .route("/2018-06-01/runtime/invocation/{id}/error", post(failed))
            .with_state(runtime);
        tokio::spawn(axum::serve(listener, app).into_future());
        let folder = folder(&[("main.agent.md", agent)]);
        let variables = [
            ("AWS_LAMBDA_RUNTIME_API", address.as_str()),
            ("AWS_LAMBDA_FUNCTION_NAME", "agents"),
            ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
            ("A2A_FUNCTION_KEYS", &format!("caller={key}")),
            ("A2A_STORE", "memory"),
            ("AZURE_FUNCTIONS_AGENTS_PROVIDER", "demo"),
        ];
        let program = Program::serve(folder.path(), &[], &variables);
        Self { program, events, waiting, count: AtomicU32::new(0), _folder: folder }
    }

    /// Delivers an event and waits for what comes back.
    pub(super) async fn invoke(&self, event: &Event) -> Answer {
        let request_id = format!("request-{}", self.count.fetch_add(1, Ordering::Relaxed));
        let (sender, receiver) = oneshot::channel();
        self.waiting.lock().unwrap().insert(request_id.clone(), sender);
        self.events.send((request_id.clone(), event.json())).unwrap();
        let answer = timeout(PATIENCE, receiver).await;
        let answer = answer.unwrap_or_else(|_| panic!("no answer: {}", self.program.stderr.text())).unwrap();
        let response = answer.unwrap_or_else(|error| panic!("the function failed: {error}"));
        Answer { request_id, response }
    }

    /// The log line of a request.
    pub(super) async fn log_of(&self, request_id: &str) -> String {
        let id = format!("\"invocation_id\":\"{request_id}\"");
        self.program.stdout.wait_for(|line| line.contains(&id)).await
    }

    pub(super) fn log(&self) -> String {
        self.program.stdout.text() + &self.program.stderr.text()
    }
}

async fn next(State(runtime): State<Runtime>) -> Response {
    let Some((id, event)) = runtime.events.lock().await.recv().await else {
        return StatusCode::GONE.into_response();
    };
    let headers = [
        ("lambda-runtime-aws-request-id", id.as_str()),
        // Far away; milliseconds since 1970.
        ("lambda-runtime-deadline-ms", "4102444800000"),
        ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:eu-west-1:123456789012:function:agents"),
        ("content-type", "application/json"),
    ];
    (headers, event.to_string()).into_response()
}

async fn answered(State(runtime): State<Runtime>, Path(id): Path<String>, body: String) -> StatusCode {
    runtime.finish(&id, serde_json::from_str(&body).map_err(|error| format!("{error}: {body}")))
}

async fn failed(State(runtime): State<Runtime>, Path(id): Path<String>, body: String) -> StatusCode {
    runtime.finish(&id, Err(body))
}

impl Runtime {
    fn finish(&self, id: &str, answer: Result<Value, String>) -> StatusCode {
        let waiting = self.waiting.lock().unwrap().remove(id).expect("an event of ours");
        // The test may be over.
        let _ = waiting.send(answer);
        StatusCode::ACCEPTED
    }
}

impl Answer {
    pub(super) fn status(&self) -> u64 {
        self.response["statusCode"].as_u64().expect("a status")
    }

    /// All values of a header, in whichever form the gateway takes them.
    pub(super) fn headers(&self, name: &str) -> Vec<String> {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        if let Some(values) = self.response["multiValueHeaders"].get(name) {
            return values.as_array().expect("a list").iter().map(text).collect();
        }
        self.response["headers"].get(name).map(text).into_iter().collect()
    }

    #[track_caller]
    pub(super) fn json(&self) -> Value {
        let body = self.response["body"].as_str().expect("a body");
        let bytes = if self.response["isBase64Encoded"] == true { STANDARD.decode(body).unwrap() } else { body.into() };
        serde_json::from_slice(&bytes).unwrap()
    }
}
