//! What can go wrong between us and the table, told by what may have happened there.

use std::time::Duration;

use azure_core::http::headers::{HeaderName, RETRY_AFTER};
use azure_core::http::{RawResponse, StatusCode};
use serde_json::Value;

use super::batch::Part;
use crate::store::StoreError;

const ERROR_CODE: HeaderName = HeaderName::from_static("x-ms-error-code");
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("x-ms-retry-after-ms");

/// A request that did not do what it should.
#[derive(Debug)]
pub(super) enum Failure {
    /// The service said no: nothing has changed.
    Refused(Refusal),
    /// The service asked to be left alone for a while: nothing has changed.
    Throttled { reason: String, retry_after: Option<Duration> },
    /// The request never left: nothing has changed.
    Unsent(String),
    /// The answer is missing or not to be trusted: the change may have happened.
    Lost(String),
    /// The credential was not accepted, or there is none.
    Denied(String),
    /// The answer came and makes no sense.
    Unreadable(StoreError),
}

/// The service's reason to say no.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// Azure's error code, or nothing.
    pub(super) code: String,
    /// The step that was refused.
    pub(super) index: usize,
}

impl Refusal {
    pub(super) fn is_missing_table(&self) -> bool {
        self.status == StatusCode::NotFound && self.code == "TableNotFound"
    }

    /// Whether it was the step's condition that failed. `conditional` says whether the step carried a tag: a service may
    /// call a tag that it does not know malformed (400) instead of stale (412).
    pub(super) fn is_conflict(&self, conditional: bool) -> bool {
        match self.status {
            StatusCode::PreconditionFailed => true,
            StatusCode::Conflict => self.code == "EntityAlreadyExists",
            StatusCode::NotFound => self.code == "ResourceNotFound" || self.code == "EntityNotFound",
            StatusCode::BadRequest => {
                conditional && matches!(self.code.as_str(), "InvalidInput" | "InvalidOperation" | "InvalidHeaderValue")
            }
            _ => false,
        }
    }

    /// The refusal that a failed batch carries inside its successful answer.
    pub(super) fn in_batch(part: &Part) -> Self {
        let (code, message) = error_of(part.body.as_bytes());
        // "2:The update condition …": the index of the step that failed.
        let index = message.split(':').next().and_then(|index| index.trim().parse().ok()).unwrap_or(0);
        Self { status: StatusCode::from(part.status), code, index }
    }
}

impl Failure {
    pub(super) fn unreadable(what: &str) -> Self {
        Self::Unreadable(StoreError::Corrupt(format!("{what} of the table service cannot be read")))
    }

    /// What an answer with an error status means.
    pub(super) fn of_answer(answer: &RawResponse) -> Self {
        let status = answer.status();
        let (mut code, _) = error_of(answer.body().as_ref());
        if code.is_empty() {
            code = answer.headers().get_optional_string(&ERROR_CODE).unwrap_or_default();
        }
        match status {
            StatusCode::Unauthorized | StatusCode::Forbidden => {
                Self::Denied(format!("status {} {code}", u16::from(status)).trim_end().to_owned())
            }
            StatusCode::TooManyRequests | StatusCode::ServiceUnavailable => {
                let number = |name: &HeaderName| answer.headers().get_optional_str(name)?.parse().ok();
                let retry_after = number(&RETRY_AFTER_MS)
                    .map(Duration::from_millis)
                    .or_else(|| number(&RETRY_AFTER).map(Duration::from_secs));
                Self::Throttled { reason: format!("status {} {code}", u16::from(status)), retry_after }
            }
            StatusCode::RequestTimeout => Self::Lost("the service gave up waiting".to_owned()),
            status if status.is_server_error() => Self::Lost(format!("status {} {code}", u16::from(status))),
            status => Self::Refused(Refusal { status, code, index: 0 }),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Unreadable(error)
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(Refusal { status, code, .. }) => Self::Unavailable {
                reason: format!("the table service refused the request: status {} {code}", u16::from(status)),
                retry_after: None,
            },
            Failure::Throttled { reason, retry_after } => Self::Unavailable { reason, retry_after },
            Failure::Unsent(reason) | Failure::Lost(reason) => Self::Unavailable { reason, retry_after: None },
            Failure::Denied(reason) => Self::Denied(reason),
            Failure::Unreadable(error) => error,
        }
    }
}

/// Code and message of an error body ("Table service error codes"); empty for what is not one.
fn error_of(body: &[u8]) -> (String, String) {
    let error: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |pointer| error.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    (text("/odata.error/code"), text("/odata.error/message/value"))
}
