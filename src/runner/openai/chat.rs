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
