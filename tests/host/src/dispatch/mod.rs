//! From a matched function to the handler and back, in one of three modes.

mod deadline;
mod envelope;
mod forward;
mod proxy;
pub(crate) mod query;
mod relay;
mod request_body;

use std::net::SocketAddr;

use bytes::{BufMut, BytesMut};
use http::{
    HeaderMap, HeaderValue, Request, StatusCode,
    header::{CONTENT_LENGTH, COOKIE},
};
use uuid::Uuid;

pub use self::envelope::{Output, OutputValue};
pub(crate) use self::envelope::{Outputs, TriggerCall, encode, run_trigger};
use self::{deadline::Deadline, envelope::HttpCall};
use crate::{
    app::App,
    config::HttpMode,
    edge::Identity,
    function::Function,
    http_types::{Body, BoxError, Reply, bare},
    routing::RouteValues,
    worker::{LogLevel, NotReady, Worker},
};

/// The version this stand-in gives itself.
pub(crate) const HOST_VERSION: &str = "4.1052.200.0";
/// The host's product token in `User-Agent`.
const HOST_AGENT: &str = "Azure-Functions-Host/4.1052.200.0";

/// Where a request came from, as the host sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) remote: SocketAddr,
    pub(crate) scheme: &'static str,
}

/// One run of an HTTP function.
pub(crate) struct Invocation<'a> {
    pub(crate) app: &'a App,
    pub(crate) worker: &'a Worker,
    pub(crate) function: &'a Function,
    pub(crate) values: RouteValues,
    pub(crate) identity: Identity,
    pub(crate) origin: Origin,
    pub(crate) id: Uuid,
}

/// Why a run failed. The client learns none of it: the answer is a bare 500.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    NotReady(#[from] NotReady),
    #[error("the function timeout passed, the handler is restarted")]
    TimedOut,
    #[error("nothing moved between client and handler for too long")]
    Idle,
    #[error("a chunked request body cannot be forwarded")]
    ChunkedBody,
    #[error("the request body cannot be read: {0}")]
    RequestBody(BoxError),
    #[error("the handler cannot be reached: {0:?}")]
    Unreachable(#[from] hyper_util::client::legacy::Error),
    #[error("the handler's response cannot be read: {0}")]
    Response(#[from] hyper::Error),
    #[error("the request cannot be built: {0}")]
    Request(#[from] http::Error),
    #[error("the handler answered an envelope with status {0}")]
    EnvelopeStatus(StatusCode),
    #[error("the handler answered an envelope with media type {0:?}, which is not JSON")]
    EnvelopeType(String),
    #[error("the handler's envelope is not valid: {0}")]
    Envelope(String),
}

impl From<http::uri::InvalidUri> for Failure {
    fn from(error: http::uri::InvalidUri) -> Self {
        Self::Request(error.into())
    }
}

impl From<http::header::InvalidHeaderValue> for Failure {
    fn from(error: http::header::InvalidHeaderValue) -> Self {
        Self::Request(error.into())
    }
}

/// Runs an HTTP function and answers the client.
pub(crate) async fn invoke(invocation: Invocation<'_>, request: Request<Body>) -> Reply {
    match try_invoke(&invocation, request).await {
        Ok(reply) => reply,
        Err(failure) => {
            let text = format!("function {} failed: {failure}", invocation.function.name);
            invocation.app.log.host(invocation.worker.copy, LogLevel::Error, text);
            bare(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}

async fn try_invoke(invocation: &Invocation<'_>, request: Request<Body>) -> Result<Reply, Failure> {
    await_handler(invocation.app, invocation.worker).await?;
    let deadline = Deadline::start(invocation.app.function_timeout(), invocation.worker.clone());
    let mode = if invocation.function.is_http_in_and_out() { invocation.app.config.mode } else { HttpMode::Envelope };
    match mode {
        HttpMode::Proxy => proxy::invoke(invocation, request, deadline).await,
        HttpMode::Forward => within(&deadline, forward::invoke(invocation, request)).await,
        HttpMode::Envelope => {
            let call = HttpCall::read(invocation, request).await?;
            within(&deadline, envelope::run_http(invocation, call)).await
        }
    }
}

/// Waits for the handler; when it takes too long, the whole host stops.
async fn await_handler(app: &App, worker: &Worker) -> Result<(), Failure> {
    match worker.ready(app.ready_wait()).await {
        Ok(_) => Ok(()),
        Err(error) => {
            if matches!(error, NotReady::TimedOut) {
                worker.stop("an invocation waited too long for the handler").await;
            }
            Err(error.into())
        }
    }
}

async fn within<T>(deadline: &Deadline, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::select! {
        done = work => done,
        () = deadline.expired() => Err(Failure::TimedOut),
    }
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Puts the values of a repeated header on one line, as the host's client writes them.
fn join_repeated(headers: &HeaderMap) -> HeaderMap {
    let mut joined = HeaderMap::with_capacity(headers.keys_len());
    for name in headers.keys() {
        let separator: &[u8] = if name == COOKIE { b"; " } else { b", " };
        let mut line = BytesMut::new();
        for (index, value) in headers.get_all(name).iter().enumerate() {
            if index > 0 {
                line.put_slice(separator);
            }
            line.put_slice(value.as_bytes());
        }
        // Valid values joined by visible characters are a valid value.
        if let Ok(value) = HeaderValue::from_maybe_shared(line.freeze()) {
            joined.insert(name, value);
        }
    }
    joined
}

/// Starts a trace unless the client already sent one; a client's own context passes unchanged.
fn add_trace_context(headers: &mut HeaderMap) -> Result<(), Failure> {
    if !headers.contains_key("traceparent") && !headers.contains_key("request-id") {
        let trace = Uuid::new_v4().simple().to_string();
        let span = Uuid::new_v4().simple().to_string();
        let value = format!("00-{trace}-{}-00", span.get(..16).unwrap_or_default());
        headers.insert("traceparent", value.parse()?);
    }
    Ok(())
}
