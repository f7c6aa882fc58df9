//! The Chat Completions API: the request for a turn, and the reply out of its chunks.

use serde::{Deserialize, Serialize};

use super::failure::{ErrorDetail, Failure, reported_error};
use super::redact::Secrets;
use super::reply::{Counts, Message, Progress, Tokens, lenient, messages, nullable};
use crate::runner::Turn;
use crate::runner::settings::ModelSettings;

/// The body of `POST chat/completions`.
#[derive(Serialize)]
pub(super) struct Request<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    stream: bool,
    stream_options: StreamOptions,
    /// The name that compatible servers know; OpenAI's reasoning models refuse it.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    /// OpenAI's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

impl<'a> Request<'a> {
    pub(super) fn new(turn: &'a Turn, model: &'a str, settings: &'a ModelSettings) -> Self {
        let instructions = Some(turn.agent.instructions.as_str()).filter(|text| !text.is_empty());
        let limit = turn.agent.max_output_tokens;
        let (max_tokens, max_completion_tokens) = if settings.compatible_only { (limit, None) } else { (None, limit) };
        Self {
            model,
            messages: instructions.map(Message::system).into_iter().chain(messages(turn)).collect(),
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            max_tokens,
            max_completion_tokens,
            reasoning_effort: settings.reasoning_effort.as_deref(),
        }
    }
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default, deserialize_with = "nullable")]
    choices: Vec<Choice>,
    #[serde(default, deserialize_with = "lenient")]
    model: String,
    #[serde(default, deserialize_with = "lenient")]
    usage: ChunkUsage,
    #[serde(default, deserialize_with = "reported_error")]
    error: Option<ErrorDetail>,
    /// `error` where a server puts the members of an error beside it.
    #[serde(default, deserialize_with = "lenient")]
    object: String,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default, deserialize_with = "lenient")]
    index: u64,
    #[serde(default, deserialize_with = "nullable")]
    delta: Delta,
    #[serde(default, deserialize_with = "lenient")]
    finish_reason: String,
}

#[derive(Deserialize, Default)]
struct Delta {
    #[serde(default, deserialize_with = "nullable")]
    content: String,
    /// A refusal is what the model says, so the caller gets to read it.
    #[serde(default, deserialize_with = "nullable")]
    refusal: String,
}

#[derive(Deserialize, Default)]
struct ChunkUsage {
    #[serde(default, deserialize_with = "lenient")]
    prompt_tokens: Option<Tokens>,
    #[serde(default, deserialize_with = "lenient")]
    completion_tokens: Option<Tokens>,
}

/// Follows the chunks of one reply.
#[derive(Default)]
pub(super) struct Reader {
    /// Something of the reply has come, though it may be empty.
    begun: bool,
    finished: bool,
    counts: Counts,
}

impl Reader {
    /// Takes the data of one event. The counts come after the last text, so only `[DONE]` or the end of the stream
    /// completes a reply.
    pub(super) fn read(&mut self, data: &str, secrets: &Secrets) -> Result<Progress, Failure> {
        if data.trim() == "[DONE]" {
            self.finished |= self.begun;
            return Ok(Progress::Complete);
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|_| Failure::unreadable(data, secrets))?;
        if let Some(error) = chunk.error {
            return Err(Failure::reported(&error, secrets));
        }
        if chunk.object == "error" {
            return Err(Failure::reported(&ErrorDetail::flat(data), secrets));
        }
        if !chunk.model.is_empty() {
            self.counts.model = chunk.model;
        }
        if let (Some(input), Some(output)) = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens) {
            self.counts.usage = Some((input.0, output.0));
        }
        // One answer was asked for; a server that gives several must not mix them up.
        let Some(choice) = chunk.choices.into_iter().find(|choice| choice.index == 0) else {
            return Ok(Progress::None);
        };
        self.begun = true;
        match choice.finish_reason.as_str() {
            "content_filter" => return Err(Failure::content_filter()),
            "tool_calls" | "function_call" => return Err(Failure::tool_call()),
            "error" | "abort" | "insufficient_system_resource" => return Err(Failure::broken_off()),
            // What some servers write in every chunk instead of null.
            "" | "null" => {}
            _ => self.finished = true,
        }
        let text = choice.delta.content + &choice.delta.refusal;
        Ok(if text.is_empty() { Progress::None } else { Progress::Text(text) })
    }

    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// What the reply cost, or nothing when it was not complete.
    pub(super) fn finish(self) -> Option<Counts> {
        self.finished.then_some(self.counts)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::runner::openai::failure::Retry;

    fn read(events: &[&str]) -> Result<(String, Option<Counts>), Failure> {
        let mut reader = Reader::default();
        let mut text = String::new();
        for event in events {
            match reader.read(event, &Secrets::default())? {
                Progress::Text(delta) => text.push_str(&delta),
                Progress::Complete => break,
                Progress::None => {}
            }
        }
        Ok((text, reader.finish()))
    }

    fn chunk(delta: &serde_json::Value, finish_reason: Option<&str>) -> String {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish_reason});
        json!({"object": "chat.completion.chunk", "model": "gpt-x", "choices": [choice], "usage": null}).to_string()
    }

    const COUNTS: &str = r#"{"model":"gpt-x","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#;

    #[test]
    fn text_is_concatenated_and_the_counts_come_after_it() {
        let first = chunk(&json!({"role": "assistant", "content": "Hel"}), None);
        let second = chunk(&json!({"content": "lo"}), None);
        let last = chunk(&json!({}), Some("stop"));
        let filter_results = r#"{"choices":[],"prompt_filter_results":[]}"#;
        let (text, counts) = read(&[filter_results, &first, &second, &last, COUNTS, "[DONE]"]).unwrap();
        assert_eq!(text, "Hello");
        assert_eq!(counts, Some(Counts { model: "gpt-x".to_owned(), usage: Some((7, 3)) }));
    }

    #[test]
    fn a_reply_is_complete_with_a_reason_to_finish_or_with_done() {
        let text = chunk(&json!({"content": "a"}), None);
        let last = chunk(&json!({}), Some("length"));
        assert_eq!(read(&[&text]).unwrap().1, None);
        assert!(read(&[&text, &last]).unwrap().1.is_some());
        assert!(read(&[&text, "[DONE]"]).unwrap().1.is_some());
        assert!(read(&[&text, "[DONE] "]).unwrap().1.is_some());
        for no_reason in ["", "null"] {
            assert_eq!(read(&[&chunk(&json!({"content": "a"}), Some(no_reason))]).unwrap().1, None, "{no_reason:?}");
        }
        assert_eq!(read(&["{}", "[DONE]"]).unwrap().1, None, "nothing of a reply came");
    }

    #[test]
    fn counts_are_taken_from_any_number() {
        let text = chunk(&json!({"content": "a"}), Some("stop"));
        for (usage, expected) in [
            (json!({"prompt_tokens": 7.0, "completion_tokens": 3.9}), Some((7, 3))),
            (json!({"prompt_tokens": -1, "completion_tokens": 0}), Some((0, 0))),
            (json!({"prompt_tokens": 7, "completion_tokens": null}), None),
            (json!({"prompt_tokens": "7", "completion_tokens": 3}), None),
            (json!([]), None),
        ] {
            let counts = json!({"choices": null, "model": null, "usage": usage}).to_string();
            let (_, seen) = read(&[&text, &counts]).unwrap();
            assert_eq!(seen.unwrap(), Counts { model: "gpt-x".to_owned(), usage: expected }, "{usage}");
        }
    }

    #[test]
    fn a_refusal_is_text() {
        let refusal = chunk(&json!({"content": null, "refusal": "I cannot."}), Some("stop"));
        assert_eq!(read(&[&refusal]).unwrap().0, "I cannot.");
    }

    #[test]
    fn failures_are_told_apart() {
        let filtered = chunk(&json!({}), Some("content_filter"));
        let tool = chunk(&json!({"tool_calls": [{"index": 0, "function": {"name": "f"}}]}), Some("tool_calls"));
        let broken_off = chunk(&json!({"content": "a"}), Some("error"));
        for (event, retry, expected) in [
            (tool.as_str(), Retry::Never, "calls a tool"),
            (broken_off.as_str(), Retry::Backoff, "broke the reply off"),
            (r#"{"object":"error","message":"m","code":400,"type":"BadRequestError"}"#, Retry::Never, "code: 400"),
            (r#"{"object":"error","message":"m","code":500}"#, Retry::Backoff, "code: 500; message: m"),
            (r#"{"error":{"message":"m","code":502}}"#, Retry::Backoff, "code: 502; message: m"),
            (r#"{"choices":[{"delta":{"content":["a"]}}]}"#, Retry::Never, "cannot be understood"),
            (filtered.as_str(), Retry::Never, "content filter"),
            (r#"{"error":{"message":"m","type":"server_error"}}"#, Retry::Backoff, "type: server_error; message: m"),
            (r#"{"error":{"message":"m","code":400}}"#, Retry::Never, "code: 400"),
            (r#"{"error":"overloaded"}"#, Retry::Backoff, "message: overloaded"),
            ("{\"choices\":[", Retry::Never, "cannot be understood"),
        ] {
            let failure = read(&[event]).unwrap_err();
            assert_eq!(failure.retry, retry, "{event}");
            assert!(failure.error.to_string().contains(expected), "{event}: {}", failure.error);
        }
    }
}
