//! What went wrong in one attempt, whether another may help, and words for it that give nothing away.

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::redact::Secrets;
use crate::runner::RunnerError;

/// How much of a provider's own message is kept, in characters.
const MAX_MESSAGE_CHARS: usize = 500;
/// How much of a provider's error code or type is kept, in characters.
const MAX_CODE_CHARS: usize = 64;

/// Why an attempt failed.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub(super) struct Failure {
    /// What the caller is told if this was the last attempt.
    pub(super) error: RunnerError,
    /// Whether another attempt may help.
    pub(super) retry: Retry,
}

/// Whether, and when, another attempt may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retry {
    /// It will not.
    Never,
    /// Whenever the client sees fit.
    Backoff,
    /// Not before this has passed, says the provider.
    After(Duration),
}

impl Failure {
    pub(super) fn lasting(error: RunnerError) -> Self {
        Self { error, retry: Retry::Never }
    }

    fn passing(reason: String) -> Self {
        Self { error: RunnerError::Unavailable(reason), retry: Retry::Backoff }
    }

    /// No response came.
    pub(super) fn unreachable(error: reqwest::Error) -> Self {
        let builder = error.is_builder();
        // The address is configuration that the operator knows; a query in it may hold a key.
        let reason = with_causes(&error.without_url());
        if builder { Self::lasting(RunnerError::NotConfigured(reason)) } else { Self::passing(reason) }
    }

    /// The body ended with an error of the connection.
    pub(super) fn broken_body() -> Self {
        Self::passing("the connection broke while the reply was read".to_owned())
    }

    pub(super) fn stalled(after: Duration) -> Self {
        Self::passing(format!("it was silent for {} seconds", after.as_secs_f64()))
    }

    /// The body ended, but the reply did not.
    pub(super) fn cut() -> Self {
        Self::passing("the stream ended before the reply was complete".to_owned())
    }

    pub(super) fn too_large(what: &str) -> Self {
        Self::malformed(format!("{what} is larger than is accepted"))
    }

    pub(super) fn malformed(reason: String) -> Self {
        Self::lasting(RunnerError::Malformed(reason))
    }

    /// An event's data is not what the API sends; some servers send a bare error body.
    pub(super) fn unreadable(data: &str, secrets: &Secrets) -> Self {
        Self::bare(data, secrets)
            .unwrap_or_else(|| Self::malformed("an event is not the JSON that the API sends".to_owned()))
    }

    /// The response has status 200, but no stream; some servers send a bare error body.
    pub(super) fn not_streamed(body: &str, secrets: &Secrets) -> Self {
        Self::bare(body, secrets).unwrap_or_else(|| Self::malformed("the answer is not an event stream".to_owned()))
    }

    fn bare(body: &str, secrets: &Secrets) -> Option<Self> {
        let body: ErrorBody = serde_json::from_str(body).ok()?;
        body.error.map(|error| Self::reported(&error, secrets))
    }

    /// No tool was offered, so none can be called; the reply waits for what will not come.
    pub(super) fn tool_call() -> Self {
        Self::malformed("it calls a tool, but none was offered".to_owned())
    }

    /// The provider says that it broke the reply off.
    pub(super) fn broken_off() -> Self {
        Self::passing("it broke the reply off".to_owned())
    }

    pub(super) fn content_filter() -> Self {
        Self::lasting(RunnerError::Refused("its content filter stopped the reply".to_owned()))
    }

    /// The response has an error status. `after` is what the provider asked to wait, `secrets` is never repeated.
    pub(super) fn status(status: http::StatusCode, body: &[u8], after: Option<Duration>, secrets: &Secrets) -> Self {
        let body = serde_json::from_slice::<ErrorBody>(body).unwrap_or_default();
        let mut detail = body.error.unwrap_or_default().scrubbed(secrets);
        // A provider that turns a key down repeats parts of it, or says who sent it.
        if matches!(status.as_u16(), 401 | 403) {
            detail.message = None;
        }
        let reason = format!("HTTP {}{detail}", status.as_u16());
        if !may_pass(status.as_u16()) {
            return Self::lasting(RunnerError::Refused(reason));
        }
        // A spent budget answers 429 as well, but no wait brings it back.
        let retry = match after {
            _ if detail.is_final() => Retry::Never,
            Some(after) => Retry::After(after),
            None => Retry::Backoff,
        };
        Self { error: RunnerError::Unavailable(reason), retry }
    }

    /// The stream carried an error in place of a reply.
    pub(super) fn reported(detail: &ErrorDetail, secrets: &Secrets) -> Self {
        let detail = detail.scrubbed(secrets);
        let reason = format!("it reported an error{detail}");
        match detail.name() {
            Some("content_filter") => Self::content_filter(),
            Some("server_error" | "rate_limit_exceeded" | "rate_limit_error" | "overloaded_error" | "timeout")
            | None => Self::passing(reason),
            // Some servers give the status that the response would have had.
            Some(code) if code.parse().is_ok_and(may_pass) => Self::passing(reason),
            Some(_) => Self::lasting(RunnerError::Refused(reason)),
        }
    }
}

fn may_pass(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..=599)
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[derive(Deserialize, Default)]
struct ErrorBody {
    #[serde(default, deserialize_with = "reported_error")]
    error: Option<ErrorDetail>,
}

/// The parts of a provider's error that are worth a log line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ErrorDetail {
    pub(super) code: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) message: Option<String>,
}

/// Reads an `error` member of any form. Providers send an object, compatible servers sometimes a bare text; an empty one,
/// as some servers add to every event, is no error.
pub(super) fn reported_error<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ErrorDetail>, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(match serde_json::from_str(raw.get()) {
        Ok(Value::Null | Value::Bool(false)) => None,
        Ok(Value::String(message)) => Some(message)
            .filter(|text| !text.is_empty())
            .map(|text| ErrorDetail { message: Some(text), ..ErrorDetail::default() }),
        Ok(Value::Object(members)) if members.is_empty() => None,
        Ok(Value::Object(mut members)) => {
            // Codes are texts or numbers.
            let mut text = |name| match members.remove(name) {
                Some(Value::String(text)) => Some(text),
                Some(Value::Number(number)) => Some(number.to_string()),
                _ => None,
            };
            Some(ErrorDetail { code: text("code"), kind: text("type"), message: text("message") })
        }
        _ => Some(ErrorDetail::default()),
    })
}

impl ErrorDetail {
    /// The error whose members stand in the event itself, beside a `type` or `object` that says `error`.
    pub(super) fn flat(event: &str) -> Self {
        let detail = reported_error(&mut serde_json::Deserializer::from_str(event)).ok().flatten().unwrap_or_default();
        Self { kind: detail.kind.filter(|kind| kind != "error"), ..detail }
    }

    fn name(&self) -> Option<&str> {
        self.code.as_deref().or(self.kind.as_deref())
    }

    fn is_final(&self) -> bool {
        [&self.code, &self.kind].into_iter().flatten().any(|name| name == "insufficient_quota")
    }

    /// Without secrets, control characters and overlong texts.
    fn scrubbed(&self, secrets: &Secrets) -> Self {
        let clean = |text: &Option<String>, limit| text.as_deref().and_then(|text| secrets.clean(text, limit));
        // A provider that turns a key down repeats parts of it.
        let about_key = self.name().is_some_and(|name| matches!(name, "invalid_api_key" | "authentication_error"));
        Self {
            code: clean(&self.code, MAX_CODE_CHARS),
            kind: clean(&self.kind, MAX_CODE_CHARS),
            message: clean(&self.message, MAX_MESSAGE_CHARS).filter(|_| !about_key),
        }
    }
}

impl std::fmt::Display for ErrorDetail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (label, value) in [("code", &self.code), ("type", &self.kind), ("message", &self.message)] {
            if let Some(value) = value {
                write!(f, "; {label}: {value}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn status(code: u16, body: &str) -> Failure {
        let turn = crate::runner::fixtures::turn("the prompt");
        let key = http::HeaderValue::from_static("Bearer sk-secret-key-12345");
        let secrets = Secrets::of_request(Some(&key), &url::Url::parse("https://x.example").unwrap(), &turn);
        Failure::status(StatusCode::from_u16(code).unwrap(), body.as_bytes(), None, &secrets)
    }

    #[test]
    fn only_statuses_that_may_pass_are_worth_another_attempt() {
        for (code, expected) in [
            (307, Retry::Never),
            (400, Retry::Never),
            (401, Retry::Never),
            (404, Retry::Never),
            (408, Retry::Backoff),
            (429, Retry::Backoff),
            (500, Retry::Backoff),
            (503, Retry::Backoff),
        ] {
            let failure = status(code, "");
            assert_eq!(failure.retry, expected, "{code}");
            assert!(failure.error.to_string().ends_with(&format!("HTTP {code}")), "{}", failure.error);
        }
    }

    #[test]
    fn a_spent_budget_is_not_asked_again_whatever_the_provider_says() {
        let body = br#"{"error":{"code":"insufficient_quota","message":"m"}}"#;
        let failure =
            Failure::status(StatusCode::TOO_MANY_REQUESTS, body, Some(Duration::from_secs(1)), &Secrets::default());
        assert_eq!(failure.retry, Retry::Never);
    }

    #[test]
    fn the_providers_wish_to_wait_is_kept() {
        let after = Duration::from_secs(7);
        let failure = Failure::status(StatusCode::TOO_MANY_REQUESTS, b"", Some(after), &Secrets::default());
        assert_eq!(failure.retry, Retry::After(after));
    }

    #[test]
    fn code_type_and_message_are_kept_and_nothing_else() {
        for (body, expected) in [
            (
                r#"{"error":{"code":"c","type":"t","message":"m","param":"p","inner":{"x":1}}}"#,
                "; code: c; type: t; message: m",
            ),
            (r#"{"error":{"code":404,"message":"m"}}"#, "; code: 404; message: m"),
            (r#"{"error":{"code":null,"message":""}}"#, ""),
            (r#"{"error":"m"}"#, "; message: m"),
            (r#"{"error":{"code":{},"type":7,"message":["m"]}}"#, "; type: 7"),
            (r#"{"error":{"message":{"text":"m"},"code":"c"}}"#, "; code: c"),
            (r#"{"error":["m"]}"#, ""),
            (r#"{"detail":"m"}"#, ""),
            ("<html>no</html>", ""),
        ] {
            let text = status(400, body).error.to_string();
            assert_eq!(text, format!("the model provider refused the request: HTTP 400{expected}"), "{body}");
        }
    }

    #[test]
    fn keys_and_prompts_that_the_provider_repeats_are_dropped() {
        for body in [
            r#"{"error":{"message":"bad key sk-secret-key-12345"}}"#,
            r#"{"error":{"message":"bad key sk-secret-key..."}}"#,
            r#"{"error":{"message":"cannot answer: the prompt"}}"#,
            r#"{"error":{"code":"sk-secret-key-12345","type":"sk-secret-key"}}"#,
            r#"{"error":{"code":"invalid_api_key","message":"Incorrect API key provided: sk-se***et."}}"#,
        ] {
            for code in [400, 401, 429, 500] {
                let text = status(code, body).error.to_string();
                assert!(!text.contains("sk-se") && !text.contains("prompt"), "{text}");
            }
        }
    }

    #[test]
    fn nothing_that_a_provider_says_of_a_credential_is_kept_but_its_code() {
        for code in [401, 403] {
            let text =
                status(code, r#"{"error":{"code":"c","type":"t","message":"Who is sk-se...45?"}}"#).error.to_string();
            assert!(text.ends_with(&format!("HTTP {code}; code: c; type: t")), "{text}");
        }
    }

    #[test]
    fn messages_are_cut_and_cannot_forge_log_lines() {
        let body =
            serde_json::json!({"error": {"code": "x".repeat(100), "message": format!("a\nb{}", "y".repeat(900))}});
        let text = status(400, &body.to_string()).error.to_string();
        assert!(text.contains("message: a by"), "{text}");
        assert_eq!(text.matches('x').count(), 64);
        assert_eq!(text.matches('y').count(), 500 - "a b".len());
    }
}
