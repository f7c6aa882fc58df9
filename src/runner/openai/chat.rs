//! The Chat Completions API: the request for a turn, and the reply out of its chunks.

use serde::{Deserialize, Serialize};

use super::failure::{ErrorDetail, Failure};
use super::reply::{Counts, Message, Progress, messages};
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
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(default)]
    model: String,
    usage: Option<ChunkUsage>,
    error: Option<ErrorDetail>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
struct Delta {
    content: Option<String>,
    /// A refusal is what the model says, so the caller gets to read it.
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct ChunkUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

/// Follows the chunks of one reply.
#[derive(Default)]
pub(super) struct Reader {
    finished: bool,
    counts: Counts,
}

impl Reader {
    /// Takes the data of one event. The counts come after the last text, so only `[DONE]` or the end of the stream
    /// completes a reply.
    pub(super) fn read(&mut self, data: &str, secrets: &[&str]) -> Result<Progress, Failure> {
        if data == "[DONE]" {
            self.finished = true;
            return Ok(Progress::Complete);
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|_| Failure::unreadable(data, secrets))?;
        if let Some(error) = chunk.error {
            return Err(Failure::reported(&error, secrets));
        }
        if !chunk.model.is_empty() {
            self.counts.model = chunk.model;
        }
        if let Some(usage) = chunk.usage {
            self.counts.usage = Some((usage.prompt_tokens, usage.completion_tokens));
        }
        let Some(choice) = chunk.choices.into_iter().next() else { return Ok(Progress::None) };
        match choice.finish_reason.as_deref() {
            Some("content_filter") => return Err(Failure::content_filter()),
            Some(_) => self.finished = true,
            None => {}
        }
        let text = choice.delta.content.unwrap_or_default() + &choice.delta.refusal.unwrap_or_default();
        Ok(if text.is_empty() { Progress::None } else { Progress::Text(text) })
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
            match reader.read(event, &[])? {
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
    }

    #[test]
    fn a_refusal_is_text() {
        let refusal = chunk(&json!({"content": null, "refusal": "I cannot."}), Some("stop"));
        assert_eq!(read(&[&refusal]).unwrap().0, "I cannot.");
    }

    #[test]
    fn failures_are_told_apart() {
        let filtered = chunk(&json!({}), Some("content_filter"));
        for (event, retry, expected) in [
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
