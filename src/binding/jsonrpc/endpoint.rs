//! The JSON-RPC endpoint over HTTP: what is checked before a body is read, and what an answer looks like.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::{RequestId, decode, encode_error, encode_result, http_status};
use crate::agents::{AuthMode, HttpAuth};
use crate::auth::{Answer, Caller, CallerKind, KEY_HEADER, Refusal};
use crate::binding::{Outcome, methods};
use crate::protocol::extensions::{A2A_EXTENSIONS, Declared, IDEMPOTENT_SEND};
use crate::protocol::media_type::{APPLICATION_JSON, require_json};
use crate::protocol::version::{self, Version};
use crate::protocol::{ErrorKind, ServiceError};
use crate::service::{Repeat, Sent, ServedAgent, Service};

/// Largest body of a request, in bytes.
pub const MAX_BODY_BYTES: usize = 256 * 1024;
/// A body must arrive whole within this time.
const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// Longest idempotency key, in bytes.
const MAX_KEY_BYTES: usize = 255;
/// What a caller without a key is told to send.
const KEY_CHALLENGE: &str = "ApiKey realm=\"a2a-functions\", header=\"x-functions-key\"";
/// When a caller may come back whose token could not be checked.
const KEYS_RETRY: Duration = Duration::from_secs(30);
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The host's id of a request. Its other name, `x-ms-invocation-id`, is a client's own where the host rebuilds requests.
const INVOCATION_ID: &str = "x-azure-functions-invocationid";

/// Answers a POST to an agent's endpoint.
///
/// `trusts_invocation_id`: the host gives each request an id, on every attempt of it the same.
pub async fn answer(
    service: &Arc<Service>,
    agent: &Arc<ServedAgent>,
    caller: Result<Caller, Refusal>,
    request: (&Parts, Body),
    trusts_invocation_id: bool,
) -> Response<Body> {
    let (parts, body) = request;
    let caller = match caller {
        Ok(caller) => caller,
        Err(refusal) => return refuse(refusal, &agent.agent().http_auth),
    };
    if let Err(error) = require_json(&parts.headers) {
        return failure(RequestId::NULL, &error, "");
    }
    let body = match read(&parts.headers, body).await {
        Ok(body) => body,
        Err(error) => return failure(RequestId::NULL, &error, ""),
    };
    let envelope = match decode(&body) {
        Ok(envelope) => envelope,
        Err(rejection) => return failure(rejection.id, &rejection.error, ""),
    };
    let method = methods::find(&envelope.method).map_or("", |row| row.operation.name());
    let outcome = async {
        version::require(&parts.headers, parts.uri.query(), &[Version::V1_0])?;
        let request = envelope.request()?;
        let repeat = repeat(&caller, &parts.headers, trusts_invocation_id)?;
        service.call(agent, &caller, request, repeat).await
    };
    match outcome.await {
        Ok(sent) => success(envelope.id, &sent, method, &parts.headers),
        Err(error) => failure(envelope.id, &error, method),
    }
}

/// The whole body, or why it is not read.
async fn read(headers: &HeaderMap, body: Body) -> Result<bytes::Bytes, ServiceError> {
    let declared = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > MAX_BODY_BYTES as u64) {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_DEADLINE, Limited::new(body, MAX_BODY_BYTES).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => {
            Err(ServiceError::new(ErrorKind::ParseError, "The body did not arrive whole.").caused_by(error))
        }
        Err(_) => Err(ServiceError::new(ErrorKind::ParseError, "The body did not arrive in time.")),
    }
}

fn too_large() -> ServiceError {
    ServiceError::new(ErrorKind::PayloadTooLarge, format!("A request may have {MAX_BODY_BYTES} bytes at most."))
}

/// What lets a repeat be recognised. Callers without an identity share a scope, so they get no promises: one could ask for
/// the answer to another's message.
fn repeat(caller: &Caller, headers: &HeaderMap, trusts_invocation_id: bool) -> Result<Repeat, ServiceError> {
    if caller.kind() != CallerKind::Anonymous {
        if let Some(key) = headers.get(IDEMPOTENCY_KEY) {
            let legal = key.to_str().ok().filter(|key| (1..=MAX_KEY_BYTES).contains(&key.len()));
            return legal.map(|key| Repeat::Key(key.to_owned())).ok_or_else(|| {
                let rule = format!("The header Idempotency-Key holds 1 to {MAX_KEY_BYTES} visible ASCII characters.");
                ServiceError::new(ErrorKind::InvalidParams, rule)
            });
        }
        if Declared::of(headers).contains(IDEMPOTENT_SEND) {
            return Ok(Repeat::MessageId);
        }
    }
    Ok(match invocation_id(headers) {
        Some(id) if trusts_invocation_id && !id.is_empty() => Repeat::Invocation(id.to_owned()),
        _ => Repeat::Unknown,
    })
}

/// The host's value comes last, on a line of its own or joined to a client's.
fn invocation_id(headers: &HeaderMap) -> Option<&str> {
    let line = headers.get_all(INVOCATION_ID).iter().next_back()?.to_str().ok()?;
    line.rsplit(',').next().map(str::trim)
}

fn success(id: RequestId<'_>, sent: &Sent, method: &'static str, headers: &HeaderMap) -> Response<Body> {
    let body = match encode_result(id, &sent.response) {
        Ok(body) => body,
        Err(error) => return failure(id, &error, method),
    };
    let mut response = json(StatusCode::OK, body);
    if Declared::of(headers).contains(IDEMPOTENT_SEND) {
        response.headers_mut().insert(A2A_EXTENSIONS, HeaderValue::from_static(IDEMPOTENT_SEND));
    }
    let name = if sent.replayed { "replayed" } else { "success" };
    response.extensions_mut().insert(Outcome { method, name, code: 0, fault: false, cause: None });
    response
}

fn failure(id: RequestId<'_>, error: &ServiceError, method: &'static str) -> Response<Body> {
    let row = error.row();
    let mut response = json(http_status(error.kind()), encode_error(id, error));
    if let Some(delay) = error.retry_delay() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(delay.as_secs().max(1)));
    }
    let name = row.own_reason.unwrap_or(row.reason);
    let cause = std::error::Error::source(error).map(|cause| Chain(cause).to_string());
    let outcome = Outcome { method, name, code: row.json_rpc, fault: row.http.is_server_error(), cause };
    response.extensions_mut().insert(outcome);
    response
}

/// The refusal of a caller. Gateways may rename the challenge's header, so the body names the scheme, too.
pub fn refuse(refusal: Refusal, auth: &HttpAuth) -> Response<Body> {
    let asks_for_tokens = auth.mode == AuthMode::Entra;
    let (scheme, header) =
        if asks_for_tokens { ("entra", AUTHORIZATION.as_str()) } else { ("function_key", KEY_HEADER) };
    let error = match refusal.answer() {
        Answer::Unauthenticated => ServiceError::unauthenticated(scheme).with_metadata("header", header),
        Answer::Forbidden => {
            let text = "The caller is known, but not allowed to use this agent.";
            ServiceError::new(ErrorKind::Forbidden, text).with_metadata("scheme", scheme)
        }
        Answer::TryAgain => {
            let text = "Credentials cannot be checked for the moment.";
            ServiceError::new(ErrorKind::Unavailable, text).retry_after(KEYS_RETRY)
        }
    };
    let error = error.caused_by(refusal);
    let mut response = failure(RequestId::NULL, &error, "");
    if refusal.answer() == Answer::TryAgain {
        // It never became a request, so the status of HTTP is the one that clients and gateways act on.
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    let challenge = if asks_for_tokens { refusal.bearer_challenge() } else { Some(KEY_CHALLENGE) };
    if let Some(challenge) = challenge {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    }
    response
}

fn json(status: StatusCode, body: bytes::Bytes) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(APPLICATION_JSON));
    response
}

/// An error and its causes, on one line.
struct Chain<'a>(&'a (dyn std::error::Error + 'static));

impl std::fmt::Display for Chain<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.0)?;
        let mut next = self.0.source();
        while let Some(cause) = next {
            write!(formatter, ": {cause}")?;
            next = cause.source();
        }
        Ok(())
    }
}
