//! The request log: one line a request, written when its answer is ready.

use std::time::Instant;

use http::request::Parts;
use http::{HeaderMap, Response};

use crate::binding::Outcome;
use crate::clock::Random;

/// What the log says of a request before anything is known of its answer.
#[derive(Debug)]
pub(super) struct RequestLog {
    started: Instant,
    invocation_id: String,
    agent: Option<String>,
    verb: http::Method,
}

impl RequestLog {
    /// Notes a request; it gets an id of `random` when the host gave it none. The path is not noted: only an agent that
    /// exists is worth a word.
    pub(super) fn open(parts: &Parts, agent: Option<&str>, random: &dyn Random) -> Self {
        Self {
            started: Instant::now(),
            invocation_id: invocation_id(&parts.headers).unwrap_or_else(|| random.id()),
            agent: agent.map(str::to_owned),
            verb: parts.method.clone(),
        }
    }

    /// Writes the line.
    pub(super) fn close<B>(self, response: &Response<B>) {
        let outcome = response.extensions().get::<Outcome>();
        tracing::info!(
            invocation_id = self.invocation_id,
            agent = self.agent,
            verb = self.verb.as_str(),
            method = outcome.map_or("", |outcome| outcome.method),
            outcome = outcome.map_or("", |outcome| outcome.name),
            code = outcome.map_or(0, |outcome| outcome.code),
            status = response.status().as_u16(),
            duration_ms = self.started.elapsed().as_secs_f64() * 1000.0,
            "request"
        );
    }
}

/// The host's id of a request: the last value, which a client cannot set, and only when it is of a form worth writing down.
/// Where a client sent one, too, the host may have joined the two.
fn invocation_id(headers: &HeaderMap) -> Option<String> {
    ["x-azure-functions-invocationid", "x-amzn-request-id"]
        .iter()
        .find_map(|name| headers.get_all(*name).iter().next_back())
        .and_then(|id| id.to_str().ok()?.rsplit(',').next().map(str::trim))
        .filter(|id| id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
        .map(str::to_owned)
}
