//! The agent's side of a turn: instructions, history and a prompt go in, typed events come out.

mod deadline;
pub mod demo;
#[cfg(test)]
mod fixtures;
pub mod openai;
pub mod select;
pub mod settings;
pub mod unconfigured;

use std::sync::Arc;

use futures::stream::BoxStream;

use crate::agents::Agent;

/// Who spoke an entry of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// The caller.
    User,
    /// The agent.
    Agent,
}

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Utterance {
    /// Who said it.
    pub speaker: Speaker,
    /// What was said.
    pub text: String,
}

/// Everything that an agent sees of a turn.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The agent that answers.
    pub agent: Arc<Agent>,
    /// Earlier turns of the context, oldest first.
    pub history: Vec<Utterance>,
    /// What the caller says now.
    pub prompt: String,
    /// When the turn must be over; the runner gives up by then.
    pub deadline: tokio::time::Instant,
    /// The conversation's name towards the provider: opaque, safe as a file name, never the caller's own identifier.
    pub session_id: String,
}

/// What happens while an agent answers. The concatenation of all text deltas is the reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunnerEvent {
    /// More text of the reply.
    TextDelta(String),
    /// The provider's account of the run; private. The runner has logged it.
    Usage(Usage),
    /// The reply is complete. Always the last event of a run that succeeded.
    Done,
}

/// Tokens that a run consumed, as the provider counts them.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Usage {
    /// Tokens of instructions, history and prompt.
    pub input_tokens: u64,
    /// Tokens of the reply, reasoning included.
    pub output_tokens: u64,
    /// The model that answered, as the provider names it.
    pub model: String,
    /// The provider's name: `openai`, `azure_openai`, `foundry`, `demo`.
    pub provider: &'static str,
}

impl Usage {
    /// Writes the account to the log, with the names that the Python runtime uses.
    pub(crate) fn log(&self, agent_name: &str) {
        tracing::info!(
            event_name = "agent_token_usage",
            agent_name,
            execution_role = "primary",
            input_tokens = self.input_tokens,
            output_tokens = self.output_tokens,
            model = self.model,
            provider = self.provider,
            "Agent token usage"
        );
    }
}

/// Why a run failed. Callers learn none of it: it goes to the log.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The turn's deadline passed.
    #[error("the agent did not finish before its deadline")]
    DeadlineExceeded,
    /// The configuration cannot run an agent.
    #[error("the model provider is not configured: {0}")]
    NotConfigured(String),
    /// The provider refused the request for good.
    #[error("the model provider refused the request: {0}")]
    Refused(String),
    /// The provider could not be reached, or failed, and retries did not help.
    #[error("the model provider is unavailable: {0}")]
    Unavailable(String),
    /// The provider answered something that makes no sense.
    #[error("the model provider's answer cannot be understood: {0}")]
    Malformed(String),
}

/// Runs agents. A run ends with [`RunnerEvent::Done`] or one error; dropping the stream abandons the run.
pub trait Runner: Send + Sync + std::fmt::Debug {
    /// Starts a turn; nothing happens before the stream is polled.
    fn run(&self, turn: Turn) -> BoxStream<'static, Result<RunnerEvent, RunnerError>>;
}
