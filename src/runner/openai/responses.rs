//! The Responses API: the request for a turn, and the reply out of its events.

use serde::{Deserialize, Serialize};

use super::failure::{ErrorDetail, Failure, reported_error};
use super::redact::Secrets;
use super::reply::{Counts, Message, Progress, Tokens, lenient, messages, nullable};
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

/// The members of all events that matter here.
#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, deserialize_with = "nullable")]
    delta: Delta,
    #[serde(default, deserialize_with = "lenient")]
    output_index: u64,
    #[serde(default, deserialize_with = "lenient")]
    content_index: u64,
    #[serde(default, deserialize_with = "lenient")]
    item: Item,
    #[serde(default, deserialize_with = "lenient")]
    response: Response,
    #[serde(default, deserialize_with = "reported_error")]
    error: Option<ErrorDetail>,
}

/// Text, or what the deltas of other kinds of events hold.
#[derive(Deserialize)]
#[serde(untagged)]
enum Delta {
    Text(String),
    Other(serde::de::IgnoredAny),
}

impl Default for Delta {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

#[derive(Deserialize, Default)]
struct Item {
    #[serde(rename = "type", default, deserialize_with = "lenient")]
    kind: String,
}

#[derive(Deserialize, Default)]
struct Response {
    #[serde(default, deserialize_with = "lenient")]
    status: String,
    #[serde(default, deserialize_with = "lenient")]
    model: String,
    #[serde(default, deserialize_with = "lenient")]
    usage: ResponseUsage,
    #[serde(default, deserialize_with = "reported_error")]
    error: Option<ErrorDetail>,
    #[serde(default, deserialize_with = "lenient")]
    incomplete_details: IncompleteDetails,
}

#[derive(Deserialize, Default)]
struct ResponseUsage {
    #[serde(default, deserialize_with = "lenient")]
    input_tokens: Option<Tokens>,
    #[serde(default, deserialize_with = "lenient")]
    output_tokens: Option<Tokens>,
}

#[derive(Deserialize, Default)]
struct IncompleteDetails {
    #[serde(default, deserialize_with = "lenient")]
    reason: String,
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
    pub(super) fn read(&mut self, data: &str, secrets: &Secrets) -> Result<Progress, Failure> {
        // The end of a Chat Completions stream; some servers send it here as well.
        if data.trim() == "[DONE]" {
            return Ok(Progress::Complete);
        }
        let event: Event = serde_json::from_str(data).map_err(|_| Failure::unreadable(data, secrets))?;
        match event.kind.as_str() {
            // A refusal is what the model says, so the caller gets to read it.
            "response.output_text.delta" | "response.refusal.delta" => match event.delta {
                Delta::Text(text) => Ok(self.text(text, (event.output_index, event.content_index))),
                Delta::Other(_) => Err(Failure::unreadable(data, secrets)),
            },
            "response.output_item.added" | "response.output_item.done"
                if matches!(event.item.kind.as_str(), "function_call" | "custom_tool_call") =>
            {
                Err(Failure::tool_call())
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end(&event.kind, event.response, secrets)
            }
            "error" => {
                // OpenAI puts the members of the error beside the type, Azure below `error`.
                let error = event.error.unwrap_or_else(|| ErrorDetail::flat(data));
                Err(Failure::reported(&error, secrets))
            }
            _ => Ok(Progress::None),
        }
    }

    fn text(&mut self, text: String, part: (u64, u64)) -> Progress {
        if text.is_empty() {
            return Progress::None;
        }
        // The parts of a reply are joined by one space, as in the Python runtime.
        let is_next = self.part.replace(part).is_some_and(|last| last != part);
        Progress::Text(if is_next { format!(" {text}") } else { text })
    }

    /// How a reply ended is its status, since compatible servers mix the names of the events up.
    fn end(&mut self, event: &str, response: Response, secrets: &Secrets) -> Result<Progress, Failure> {
        let status = match response.status.as_str() {
            known @ ("completed" | "incomplete" | "failed" | "cancelled") => known,
            _ => event.strip_prefix("response.").unwrap_or_default(),
        };
        match (status, response.incomplete_details.reason.as_str()) {
            ("incomplete", "content_filter") => Err(Failure::content_filter()),
            // A reply that ran into its token limit is a short reply.
            ("completed" | "incomplete", _) => {
                let usage = response.usage.input_tokens.zip(response.usage.output_tokens);
                self.end =
                    Some(Counts { model: response.model, usage: usage.map(|(input, output)| (input.0, output.0)) });
                Ok(Progress::Complete)
            }
            _ => Err(Failure::reported(&response.error.unwrap_or_default(), secrets)),
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.end.is_some()
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
            match reader.read(&event.to_string(), &Secrets::default())? {
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
    fn empty_deltas_are_no_text_and_begin_no_part() {
        let (text, _) = read(&[delta("a", 0, 0), delta("", 1, 0), delta("b", 0, 0), delta("", 0, 1)]).unwrap();
        assert_eq!(text, "ab");
    }

    #[test]
    fn an_end_without_a_status_ends_as_its_name_says() {
        for last in
            [json!({"type": "response.completed"}), json!({"type": "response.incomplete", "response": {"status": 1}})]
        {
            let (text, counts) = read(&[delta("a", 0, 0), last]).unwrap();
            assert_eq!((text.as_str(), counts), ("a", Some(Counts::default())));
        }
        let mut reader = Reader::default();
        assert_eq!(reader.read("[DONE]", &Secrets::default()).unwrap(), Progress::Complete);
        assert_eq!(reader.finish(), None);
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
            (json!({"type": null}), Retry::Never, "cannot be understood"),
            (json!({"type": "response.output_text.delta", "delta": ["a"]}), Retry::Never, "cannot be understood"),
            (json!({"type": "response.completed", "response": {"status": "cancelled"}}), Retry::Backoff, "an error"),
            (json!({"type": "response.failed", "response": null}), Retry::Backoff, "reported an error"),
            (json!({"type": "response.output_item.added", "item": {"type": "function_call"}}), Retry::Never, "a tool"),
        ] {
            let failure = read(std::slice::from_ref(&event)).unwrap_err();
            assert_eq!(failure.retry, retry, "{event}");
            assert!(failure.error.to_string().contains(expected), "{event}: {}", failure.error);
        }
        assert!(matches!(read(&[json!(1)]).unwrap_err().error, RunnerError::Malformed(_)));
    }
}
