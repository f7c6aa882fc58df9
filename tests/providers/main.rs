//! The model runners against a real OpenAI-compatible server process, and against a provider that misbehaves on purpose.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a fixture that fails ends the test")]

mod contract;
mod identity;
mod misbehaving;
#[path = "../support/model_server.rs"]
mod model_server;
mod real_server;
mod scripted;

use std::sync::Arc;
use std::time::Duration;

use a2a_functions::agents::{Agent, HttpAuth};
use a2a_functions::clock::{SystemClock, SystemRandom};
use a2a_functions::http::HttpClient;
use a2a_functions::runner::openai::{OpenAiRunner, RetryPolicy};
use a2a_functions::runner::settings::RunnerSettings;
use a2a_functions::runner::{Runner, RunnerError, RunnerEvent, Turn, Usage};
use futures::StreamExt as _;

/// A way to reach a provider that behaves like every other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Provider {
    OpenAiResponses,
    OpenAiChat,
    AzureResponses,
    AzureChat,
    Foundry,
}

impl Provider {
    fn speaks_chat(self) -> bool {
        matches!(self, Self::OpenAiChat | Self::AzureChat)
    }

    /// The environment that points this provider at `url`.
    fn variables(self, url: &str) -> Vec<(&'static str, String)> {
        let api = if self.speaks_chat() { "chat" } else { "responses" };
        let mut variables = match self {
            Self::OpenAiResponses | Self::OpenAiChat => {
                vec![("OPENAI_BASE_URL", format!("{url}/v1")), ("OPENAI_API_KEY", "sk-test".to_owned())]
            }
            Self::AzureResponses | Self::AzureChat => {
                vec![("AZURE_OPENAI_ENDPOINT", url.to_owned()), ("AZURE_OPENAI_API_KEY", "azure-test".to_owned())]
            }
            Self::Foundry => {
                let from_process = |name| (name, std::env::var(name).expect("an identity in the environment"));
                let project = ("FOUNDRY_PROJECT_ENDPOINT", url.to_owned());
                vec![project, from_process("IDENTITY_ENDPOINT"), from_process("AZURE_CLIENT_ID")]
            }
        };
        variables.push(("A2A_OPENAI_API", api.to_owned()));
        variables
    }

    fn runner(self, url: &str) -> OpenAiRunner {
        runner(&self.variables(url))
    }
}

/// A runner for an environment, with waits that are short.
fn runner(variables: &[(&str, String)]) -> OpenAiRunner {
    let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let Ok(RunnerSettings::Model(settings)) = RunnerSettings::from_env(&environment) else {
        panic!("no provider in {variables:?}")
    };
    let retry = RetryPolicy { attempts: 3, base: Duration::from_millis(5), cap: Duration::from_millis(5) };
    let http = HttpClient::from_env(&environment);
    OpenAiRunner::new(*settings, retry, http, Arc::new(SystemClock), Arc::new(SystemRandom))
}

fn turn(prompt: &str) -> Turn {
    let agent = Agent {
        slug: "triage".to_owned(),
        name: "Triage".to_owned(),
        description: "Sorts incidents".to_owned(),
        instructions: "You are the triage agent.".to_owned(),
        source_file: "triage.agent.md".to_owned(),
        model: None,
        timeout: Duration::from_secs(900),
        max_output_tokens: None,
        http_auth: HttpAuth::default(),
        a2a: None,
    };
    Turn {
        agent: Arc::new(agent),
        history: Vec::new(),
        prompt: prompt.to_owned(),
        deadline: tokio::time::Instant::now() + Duration::from_secs(60),
        session_id: "a2a-0123".to_owned(),
    }
}

/// What a run amounted to.
#[derive(Debug, Default)]
struct Outcome {
    text: String,
    deltas: usize,
    usage: Option<Usage>,
    is_done: bool,
    error: Option<RunnerError>,
}

async fn run(runner: &OpenAiRunner, turn: Turn) -> Outcome {
    let mut outcome = Outcome::default();
    let mut events = runner.run(turn);
    while let Some(event) = events.next().await {
        assert!(!outcome.is_done && outcome.error.is_none(), "an event after the last one: {event:?}");
        match event {
            Ok(RunnerEvent::TextDelta(text)) => {
                outcome.text += &text;
                outcome.deltas += 1;
            }
            Ok(RunnerEvent::Usage(usage)) => outcome.usage = Some(usage),
            Ok(RunnerEvent::Done) => outcome.is_done = true,
            Err(error) => outcome.error = Some(error),
        }
    }
    outcome
}
