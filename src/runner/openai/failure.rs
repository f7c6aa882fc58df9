//! What went wrong in one attempt, whether another may help, and words for it that give nothing away.

use std::time::Duration;

use serde::Deserialize;

use crate::runner::RunnerError;

/// How much of a provider's own message is kept, in characters.
const MAX_MESSAGE_CHARS: usize = 500;
/// How much of a provider's error code or type is kept, in characters.
const MAX_CODE_CHARS: usize = 64;

/// Below this a match says nothing: the prompt "a" occurs in every message.
const MIN_SECRET_BYTES: usize = 4;

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
    pub(super) fn unreadable(data: &str, secrets: &[&str]) -> Self {
        match serde_json::from_str::<ErrorBody>(data) {
            Ok(body) => Self::reported(&body.error, secrets),
            Err(_) => Self::malformed("an event is not the JSON that the API sends".to_owned()),
        }
    }

    pub(super) fn content_filter() -> Self {
        Self::lasting(RunnerError::Refused("its content filter stopped the reply".to_owned()))
    }

    /// The response has an error status. `after` is what the provider asked to wait, `secrets` is never repeated.
    pub(super) fn status(status: http::StatusCode, body: &[u8], after: Option<Duration>, secrets: &[&str]) -> Self {
        let detail = serde_json::from_slice::<ErrorBody>(body).map(|body| body.error.scrubbed(secrets));
        let detail = detail.unwrap_or_default();
        let reason = format!("HTTP {}{detail}", status.as_u16());
        let passing = status.is_server_error() || matches!(status.as_u16(), 408 | 429);
        if !passing {
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
    pub(super) fn reported(detail: &ErrorDetail, secrets: &[&str]) -> Self {
        let detail = detail.scrubbed(secrets);
        let reason = format!("it reported an error{detail}");
        match detail.name() {
            Some("content_filter") => Self::content_filter(),
            Some("server_error" | "rate_limit_exceeded" | "rate_limit_error" | "overloaded_error" | "timeout")
            | None => Self::passing(reason),
            Some(_) => Self::lasting(RunnerError::Refused(reason)),
        }
    }
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

#[derive(Deserialize)]
struct ErrorBody {
    error: ErrorDetail,
}

/// The parts of a provider's error that are worth a log line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "AnyError")]
pub(super) struct ErrorDetail {
    code: Option<String>,
    kind: Option<String>,
    message: Option<String>,
}

/// Providers send an object, compatible servers sometimes a bare text; codes are texts or numbers.
#[derive(Deserialize)]
#[serde(untagged)]
enum AnyError {
    Object {
        code: Option<serde_json::Value>,
        #[serde(rename = "type")]
        kind: Option<String>,
        message: Option<String>,
    },
    Text(String),
}

impl From<AnyError> for ErrorDetail {
    fn from(error: AnyError) -> Self {
        match error {
            AnyError::Object { code, kind, message } => {
                let code = code.and_then(|code| match code {
                    serde_json::Value::String(code) => Some(code),
                    serde_json::Value::Number(code) => Some(code.to_string()),
                    _ => None,
                });
                Self { code, kind, message }
            }
            AnyError::Text(message) => Self { message: Some(message), ..Self::default() },
        }
    }
}

impl ErrorDetail {
    fn name(&self) -> Option<&str> {
        self.code.as_deref().or(self.kind.as_deref())
    }

    fn is_final(&self) -> bool {
        [&self.code, &self.kind].into_iter().flatten().any(|name| name == "insufficient_quota")
    }

    /// Without control characters, overlong texts, and any message that repeats one of `secrets`.
    fn scrubbed(&self, secrets: &[&str]) -> Self {
        let repeats =
            |text: &str| secrets.iter().any(|secret| secret.len() >= MIN_SECRET_BYTES && text.contains(secret));
        let clean = |text: &Option<String>, limit| {
            text.as_deref().filter(|text| !text.is_empty() && !repeats(text)).map(|text| printable(text, limit))
        };
        // A provider that turns a key down repeats parts of it.
        let about_key = self.name().is_some_and(|name| name == "invalid_api_key");
        Self {
            code: clean(&self.code, MAX_CODE_CHARS),
            kind: clean(&self.kind, MAX_CODE_CHARS),
            message: clean(&self.message, MAX_MESSAGE_CHARS).filter(|_| !about_key),
        }
    }
}

fn printable(text: &str, limit: usize) -> String {
    text.chars().take(limit).map(|c| if c.is_control() { ' ' } else { c }).collect()
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
        Failure::status(StatusCode::from_u16(code).unwrap(), body.as_bytes(), None, &["sk-secret", "the prompt"])
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
        let failure = Failure::status(StatusCode::TOO_MANY_REQUESTS, body, Some(Duration::from_secs(1)), &[]);
        assert_eq!(failure.retry, Retry::Never);
    }

    #[test]
    fn the_providers_wish_to_wait_is_kept() {
        let after = Duration::from_secs(7);
        let failure = Failure::status(StatusCode::TOO_MANY_REQUESTS, b"", Some(after), &[]);
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
            r#"{"error":{"message":"bad key sk-secret"}}"#,
            r#"{"error":{"message":"cannot answer: the prompt"}}"#,
            r#"{"error":{"code":"sk-secret","type":"sk-secret"}}"#,
            r#"{"error":{"code":"invalid_api_key","message":"Incorrect API key provided: sk-se***et."}}"#,
        ] {
            let text = status(401, body).error.to_string();
            assert!(!text.contains("sk-se") && !text.contains("prompt"), "{text}");
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
