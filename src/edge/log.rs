//! The request log: one line a request, written when its answer is ready.

use std::time::Instant;

use http::Response;
use http::request::Parts;

use crate::binding::Outcome;
use crate::clock::Random;
use crate::host_traits::HostTraits;

/// Carries the Functions host's id of a request.
const INVOCATION_ID: &str = "x-azure-functions-invocationid";

/// A host's id of a request, or our own.
#[derive(Debug, Clone)]
pub(super) struct InvocationId(pub(super) String);

/// What the log says of a request before anything is known of its answer.
#[derive(Debug)]
pub(super) struct RequestLog {
    started: Instant,
    invocation_id: InvocationId,
    agent: Option<String>,
    verb: http::Method,
}

impl RequestLog {
    /// Notes a request; it gets an id of `random` when the host gave it none. The path is not noted: only an agent that
    /// exists is worth a word.
    pub(super) fn open(parts: &Parts, agent: Option<&str>, host: HostTraits, random: &dyn Random) -> Self {
        Self {
            started: Instant::now(),
            invocation_id: invocation_id(parts, host).unwrap_or_else(|| InvocationId(random.id())),
            agent: agent.map(str::to_owned),
            verb: parts.method.clone(),
        }
    }

    /// Writes the line: as an error when the server is to blame.
    pub(super) fn close<B>(self, response: &Response<B>) {
        let outcome = response.extensions().get::<Outcome>();
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(
                    invocation_id = self.invocation_id.0,
                    agent = self.agent,
                    verb = self.verb.as_str(),
                    method = outcome.map_or("", |outcome| outcome.method),
                    outcome = outcome.map_or("", |outcome| outcome.name),
                    code = outcome.map_or(0, |outcome| outcome.code),
                    status = response.status().as_u16(),
                    duration_ms = self.started.elapsed().as_secs_f64() * 1000.0,
                    cause = outcome.and_then(|outcome| outcome.cause.as_deref()),
                    "request"
                )
            };
        }
        if outcome.is_some_and(|outcome| outcome.fault) { line!(error) } else { line!(info) }
    }
}

/// The host's id of a request: never one that a client can set, and only when it is of a form worth writing down.
fn invocation_id(parts: &Parts, host: HostTraits) -> Option<InvocationId> {
    if let Some(id) = parts.extensions.get::<InvocationId>() {
        return Some(id.clone());
    }
    if !host.sets_invocation_id {
        return None;
    }
    // A client's own value comes first, the host's last, on a line of its own or joined to it.
    let id = parts.headers.get_all(INVOCATION_ID).iter().next_back()?.to_str().ok()?.rsplit(',').next()?.trim();
    let is_plain = id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_plain.then(|| InvocationId(id.to_owned()))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn noted(sets_invocation_id: bool, ids: &[&str]) -> Option<String> {
        let mut request = Request::builder();
        for id in ids {
            request = request.header(INVOCATION_ID, *id);
        }
        let host = HostTraits {
            checks_keys: false,
            sets_invocation_id,
            forwards_host: false,
            checks_authority: true,
            vouches_for_principals: false,
            development: false,
        };
        invocation_id(&request.body(()).unwrap().into_parts().0, host).map(|id| id.0)
    }

    #[test]
    fn the_id_of_a_request_is_the_hosts_and_never_the_clients() {
        for (sets_invocation_id, ids, expected) in [
            (true, &["client", "host"][..], Some("host")),
            (true, &["client, host"], Some("host")),
            (true, &["with space"], None),
            (true, &[], None),
            (false, &["client"], None),
        ] {
            assert_eq!(noted(sets_invocation_id, ids).as_deref(), expected, "{sets_invocation_id} {ids:?}");
        }
    }
}
