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
    #[serde(rename = "response.completed")]
    Completed { response: Response },
    #[serde(rename = "response.incomplete")]
    Incomplete { response: Response },
    #[serde(rename = "response.failed")]
    Failed { response: Response },
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
    #[serde(default)]
    model: String,
    usage: Option<ResponseUsage>,
    error: Option<ErrorDetail>,
    incomplete_details: Option<IncompleteDetails>,
}

#[derive(Deserialize, Clone, Copy)]
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
            Event::Completed { response } => Ok(self.complete(response)),
            Event::Incomplete { response } => {
                let reason = response.incomplete_details.as_ref().and_then(|details| details.reason.as_deref());
                match reason {
                    Some("content_filter") => Err(Failure::content_filter()),
                    // A reply that ran into its token limit is a short reply.
                    Some("max_output_tokens") => Ok(self.complete(response)),
                    _ => Err(Failure::malformed("the reply is incomplete for no known reason".to_owned())),
                }
            }
            Event::Failed { response } => Err(Failure::reported(&response.error.unwrap_or_default(), secrets)),
            Event::Error(ErrorEvent::Nested { error } | ErrorEvent::Flat(error)) => {
                Err(Failure::reported(&error, secrets))
            }
            Event::Other => Ok(Progress::None),
        }
    }

    fn complete(&mut self, response: Response) -> Progress {
        let usage = response.usage.map(|usage| (usage.input_tokens, usage.output_tokens));
        self.end = Some(Counts { model: response.model, usage });
        Progress::Complete
    }

    /// What the reply cost, or nothing when it was not complete.
    pub(super) fn finish(self) -> Option<Counts> {
        self.end
    }
}
