//! The Responses API: the request for a turn, and the reply out of its events.

use serde::{Deserialize, Serialize};

use super::failure::{ErrorDetail, Failure};
use super::reply::{Counts, Message, Progress, messages};
use crate::runner::Turn;
use crate::runner::settings::ModelSettings;

/// The body of `POST responses`.
#[derive(Serialize)]
pub(super) struct Request<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<Message<'a>>,
    stream: bool,
    /// The conversation is ours to keep: the provider gets all of it each time and stores none of it.
    store: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning<'a>>,
}

#[derive(Serialize)]
struct Reasoning<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
}

impl<'a> Request<'a> {
    pub(super) fn new(turn: &'a Turn, model: &'a str, settings: &'a ModelSettings) -> Self {
        let reasoning =
            Reasoning { effort: settings.reasoning_effort.as_deref(), summary: settings.reasoning_summary.as_deref() };
        Self {
            model,
            instructions: &turn.agent.instructions,
            input: messages(turn).collect(),
            stream: true,
            store: false,
            max_output_tokens: turn.agent.max_output_tokens,
            reasoning: (reasoning.effort.is_some() || reasoning.summary.is_some()).then_some(reasoning),
        }
    }
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Event {
    /// A refusal is what the model says, so the caller gets to read it.
    #[serde(rename = "response.output_text.delta", alias = "response.refusal.delta")]
    Delta {
        delta: String,
        #[serde(default)]
        output_index: u64,
        #[serde(default)]
        content_index: u64,
    },
    /// The last event of a reply; how it ended is its status, since compatible servers mix the names up.
    #[serde(rename = "response.completed", alias = "response.incomplete", alias = "response.failed")]
    End { response: Response },
    #[serde(rename = "error")]
    Error(ErrorEvent),
    #[serde(other)]
    Other,
}

/// OpenAI puts the fields of the error beside the type, Azure below `error`.
#[derive(Deserialize)]
#[serde(untagged)]
enum ErrorEvent {
    Nested { error: ErrorDetail },
    Flat(ErrorDetail),
}

#[derive(Deserialize)]
struct Response {
    status: Status,
    #[serde(default)]
    model: String,
    usage: Option<ResponseUsage>,
    error: Option<ErrorDetail>,
    incomplete_details: Option<IncompleteDetails>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Completed,
    Incomplete,
    #[serde(other)]
    Failed,
}

#[derive(Deserialize)]
struct ResponseUsage {
    input_tokens: u64,
    output_tokens: u64,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    reason: Option<String>,
}

/// Follows the events of one reply.
#[derive(Default)]
pub(super) struct Reader {
    /// Output item and content part of the last delta.
    part: Option<(u64, u64)>,
    end: Option<Counts>,
}

impl Reader {
    /// Takes the data of one event.
    pub(super) fn read(&mut self, data: &str, secrets: &[&str]) -> Result<Progress, Failure> {
        match serde_json::from_str(data).map_err(|_| Failure::unreadable(data, secrets))? {
            Event::Delta { delta, output_index, content_index } => {
                let part = (output_index, content_index);
                // The parts of a reply are joined by one space, as in the Python runtime.
                let is_next = self.part.replace(part).is_some_and(|last| last != part);
                Ok(Progress::Text(if is_next { format!(" {delta}") } else { delta }))
            }
            Event::End { response } => self.end(response, secrets),
            Event::Error(ErrorEvent::Nested { error } | ErrorEvent::Flat(error)) => {
                Err(Failure::reported(&error, secrets))
            }
            Event::Other => Ok(Progress::None),
        }
    }

    fn end(&mut self, response: Response, secrets: &[&str]) -> Result<Progress, Failure> {
        let reason = response.incomplete_details.and_then(|details| details.reason);
        match (response.status, reason.as_deref()) {
            (Status::Failed, _) => Err(Failure::reported(&response.error.unwrap_or_default(), secrets)),
            (Status::Incomplete, Some("content_filter")) => Err(Failure::content_filter()),
            // A reply that ran into its token limit is a short reply.
            (Status::Completed | Status::Incomplete, _) => {
                let usage = response.usage.map(|usage| (usage.input_tokens, usage.output_tokens));
                self.end = Some(Counts { model: response.model, usage });
                Ok(Progress::Complete)
            }
        }
    }

    /// What the reply cost, or nothing when it was not complete.
    pub(super) fn finish(self) -> Option<Counts> {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::runner::RunnerError;
    use crate::runner::openai::failure::Retry;

    fn read(events: &[serde_json::Value]) -> Result<(String, Option<Counts>), Failure> {
        let mut reader = Reader::default();
        let mut text = String::new();
        for event in events {
            match reader.read(&event.to_string(), &[])? {
                Progress::Text(delta) => text.push_str(&delta),
                Progress::Complete => break,
                Progress::None => {}
            }
        }
        Ok((text, reader.finish()))
    }

    fn delta(text: &str, output_index: u64, content_index: u64) -> serde_json::Value {
        json!({"type": "response.output_text.delta", "delta": text,
            "output_index": output_index, "content_index": content_index})
    }

    fn end(status: &str) -> serde_json::Value {
        json!({"type": format!("response.{status}"), "response": {"status": status, "model": "gpt-x",
            "usage": {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}}})
    }

    #[test]
    fn text_is_concatenated_and_the_counts_come_from_the_last_event() {
        let (text, counts) = read(&[
            json!({"type": "response.created", "response": {"status": "in_progress"}}),
            delta("Hel", 0, 0),
            delta("lo", 0, 0),
            json!({"type": "response.a_kind_of_the_future", "delta": {"object": true}}),
            end("completed"),
        ])
        .unwrap();
        assert_eq!(text, "Hello");
        assert_eq!(counts, Some(Counts { model: "gpt-x".to_owned(), usage: Some((7, 3)) }));
    }

    #[test]
    fn parts_of_a_reply_are_joined_by_one_space() {
        let (text, _) = read(&[delta("a", 0, 0), delta("b", 0, 0), delta("c", 0, 1), delta("d", 2, 0)]).unwrap();
        assert_eq!(text, "ab c d");
    }

    #[test]
    fn a_refusal_is_text_and_a_token_limit_makes_a_short_reply() {
        let refusal =
            json!({"type": "response.refusal.delta", "delta": "I cannot.", "output_index": 0, "content_index": 0});
        let (text, counts) = read(&[refusal, end("incomplete")]).unwrap();
        assert_eq!(text, "I cannot.");
        assert!(counts.is_some());
    }

    #[test]
    fn a_reply_without_its_last_event_is_not_complete() {
        assert_eq!(read(&[delta("half", 0, 0)]).unwrap().1, None);
    }

    #[test]
    fn failures_are_told_apart() {
        let filtered = json!({"type": "response.incomplete",
            "response": {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}});
        let failed = |code: &str| json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": code, "message": "m"}}});
        let completed_as_failed = json!({"type": "response.completed", "response": {"status": "failed"}});
        for (event, retry, expected) in [
            (filtered, Retry::Never, "content filter"),
            (failed("server_error"), Retry::Backoff, "code: server_error; message: m"),
            (failed("invalid_prompt"), Retry::Never, "code: invalid_prompt"),
            (completed_as_failed, Retry::Backoff, "reported an error"),
            (json!({"type": "error", "code": "rate_limit_exceeded", "message": "m"}), Retry::Backoff, "rate_limit"),
            (json!({"type": "error", "error": {"type": "invalid_request_error"}}), Retry::Never, "invalid_request"),
            (json!({"error": {"message": "bare"}}), Retry::Backoff, "message: bare"),
            (json!("no event"), Retry::Never, "cannot be understood"),
            (json!({"type": "response.completed"}), Retry::Never, "cannot be understood"),
        ] {
            let failure = read(std::slice::from_ref(&event)).unwrap_err();
            assert_eq!(failure.retry, retry, "{event}");
            assert!(failure.error.to_string().contains(expected), "{event}: {}", failure.error);
        }
        assert!(matches!(read(&[json!(1)]).unwrap_err().error, RunnerError::Malformed(_)));
    }
}
