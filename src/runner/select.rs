//! From settings to the runner that they choose.

use std::sync::Arc;

use super::Runner;
use super::demo::DemoRunner;
use super::openai::{OpenAiRunner, RetryPolicy};
use super::settings::{REMEDY, RunnerSettings};
use super::unconfigured::UnconfiguredRunner;
use crate::clock::{Clock, Random};
use crate::http::HttpClient;

/// What runners are built from.
#[derive(Debug, Clone)]
pub struct RunnerParts {
    /// Outbound HTTP.
    pub http: HttpClient,
    /// The time of day, to read `Retry-After` dates.
    pub clock: Arc<dyn Clock>,
    /// Jitter.
    pub random: Arc<dyn Random>,
}

/// The runner that `settings` choose.
///
/// Without a provider, a `local` run (a developer's own machine) gets canned replies; a deployment gets a runner whose
/// every turn fails and says what to set, so that a forgotten variable never looks like an answer.
pub fn select(settings: &RunnerSettings, local: bool, parts: RunnerParts) -> Arc<dyn Runner> {
    match settings {
        RunnerSettings::Model(model) => {
            let RunnerParts { http, clock, random } = parts;
            Arc::new(OpenAiRunner::new((**model).clone(), RetryPolicy::default(), http, clock, random))
        }
        RunnerSettings::Demo => Arc::new(DemoRunner),
        RunnerSettings::Unset if local => Arc::new(DemoRunner),
        RunnerSettings::Unset => Arc::new(UnconfiguredRunner::new(REMEDY)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{SystemClock, SystemRandom};
    use crate::runner::RunnerError;
    use crate::runner::fixtures::{reply_text, turn};

    fn selected(variables: &[(&str, &str)], local: bool) -> Arc<dyn Runner> {
        let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let parts = RunnerParts {
            http: HttpClient::from_env(&environment),
            clock: Arc::new(SystemClock),
            random: Arc::new(SystemRandom),
        };
        select(&RunnerSettings::from_env(&environment).unwrap(), local, parts)
    }

    #[tokio::test]
    async fn canned_replies_come_only_on_a_developers_machine_or_when_asked_for() {
        let demo = [("AZURE_FUNCTIONS_AGENTS_PROVIDER", "demo")];
        for (variables, local) in [(&[][..], true), (&demo, true), (&demo, false)] {
            let reply = reply_text(selected(variables, local).run(turn("hello"))).await.unwrap();
            assert!(reply.contains("no model is configured"), "{variables:?} {local}");
        }
    }

    #[tokio::test]
    async fn a_deployment_without_a_provider_fails_every_turn_and_says_what_to_set() {
        let runner = selected(&[], false);
        for _ in 0..2 {
            let error = reply_text(runner.run(turn("hello"))).await.unwrap_err();
            assert!(matches!(error, RunnerError::NotConfigured(_)), "{error:?}");
            for variable in ["AZURE_OPENAI_ENDPOINT", "FOUNDRY_PROJECT_ENDPOINT", "OPENAI_API_KEY"] {
                assert!(error.to_string().contains(variable), "{error}");
            }
        }
    }

    #[test]
    fn a_configured_provider_is_used_locally_and_deployed() {
        for local in [true, false] {
            let runner = selected(&[("OPENAI_API_KEY", "sk-secret")], local);
            assert!(format!("{runner:?}").starts_with("OpenAiRunner"));
        }
    }
}
