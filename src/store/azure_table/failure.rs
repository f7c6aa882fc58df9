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
        // "2:The update condition …": the step that failed. Without it, better no step than the wrong one.
        let index = message.split(':').next().and_then(|index| index.trim().parse().ok()).unwrap_or(usize::MAX);
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

#[cfg(test)]
mod tests {
    use azure_core::http::headers::Headers;

    use super::*;

    const STALE: &str = r#"{"odata.error":{"code":"UpdateConditionNotSatisfied","message":{"lang":"en-US","value":"17:The update condition specified in the request was not satisfied.\nRequestId:1\nTime:2"}}}"#;

    fn part(status: u16, body: &str) -> Part {
        Part { status, etag: None, body: body.to_owned() }
    }

    fn answer(status: u16, headers: &[(&'static str, &'static str)], body: &'static str) -> Failure {
        let mut map = Headers::new();
        for (name, value) in headers {
            map.insert(*name, *value);
        }
        Failure::of_answer(&RawResponse::from_bytes(StatusCode::from(status), map, body))
    }

    #[test]
    fn a_failed_batch_names_its_step() {
        let refusal = Refusal::in_batch(&part(412, STALE));
        assert_eq!((refusal.index, refusal.is_conflict(true)), (17, true));
    }

    #[test]
    fn a_failed_batch_without_an_index_blames_no_step() {
        for body in ["", "{}", r#"{"odata.error":{"code":"X","message":{"value":"no index"}}}"#] {
            assert_eq!(Refusal::in_batch(&part(412, body)).index, usize::MAX, "{body}");
        }
    }

    #[test]
    fn c049_a_tag_called_malformed_is_a_conflict_like_a_stale_one() {
        let cases = [
            (412, "UpdateConditionNotSatisfied", true, true),
            (412, "", true, true),
            (400, "InvalidInput", true, true),
            (400, "InvalidInput", false, false),
            (400, "PropertyValueTooLarge", true, false),
            (409, "EntityAlreadyExists", false, true),
            (409, "TableBeingDeleted", false, false),
            (404, "ResourceNotFound", true, true),
            (404, "TableNotFound", true, false),
        ];
        for (status, code, conditional, conflict) in cases {
            let refusal = Refusal { status: StatusCode::from(status), code: code.to_owned(), index: 0 };
            assert_eq!(refusal.is_conflict(conditional), conflict, "{status} {code}");
        }
    }

    #[test]
    fn statuses_tell_what_may_have_happened() {
        assert!(matches!(answer(401, &[], ""), Failure::Denied(_)));
        assert!(matches!(answer(403, &[], "<xml/>"), Failure::Denied(_)));
        assert!(matches!(answer(408, &[], ""), Failure::Lost(_)));
        assert!(matches!(answer(500, &[], ""), Failure::Lost(_)));
        assert!(matches!(answer(404, &[], ""), Failure::Refused(_)));
        for (headers, expected) in [
            (&[("retry-after", "7")][..], Some(Duration::from_secs(7))),
            (&[("x-ms-retry-after-ms", "70"), ("retry-after", "7")], Some(Duration::from_millis(70))),
            (&[("retry-after", "soon")], None),
            (&[], None),
        ] {
            for status in [429, 503] {
                let failure = answer(status, headers, "");
                assert!(
                    matches!(failure, Failure::Throttled { retry_after, .. } if retry_after == expected),
                    "{failure:?}"
                );
            }
        }
    }

    #[test]
    fn the_code_comes_from_the_body_or_from_its_header() {
        let code = |failure| match failure {
            Failure::Refused(refusal) => refusal.code,
            other => panic!("{other:?}"),
        };
        assert_eq!(code(answer(412, &[("x-ms-error-code", "Other")], STALE)), "UpdateConditionNotSatisfied");
        assert_eq!(code(answer(409, &[("x-ms-error-code", "TableAlreadyExists")], "")), "TableAlreadyExists");
    }
}
