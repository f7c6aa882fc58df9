//! Turns and stream readers that the tests of several runners share.

use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt as _;
use futures::stream::BoxStream;

use super::{RunnerError, RunnerEvent, Turn};
use crate::agents::{Agent, HttpAuth};

pub(crate) fn agent() -> Agent {
    Agent {
        slug: "triage".to_owned(),
        name: "Incident triage".to_owned(),
        description: "Sorts incidents".to_owned(),
        instructions: "Be brief.".to_owned(),
        source_file: "triage.agent.md".to_owned(),
        model: None,
        timeout: Duration::from_secs(900),
        max_output_tokens: None,
        http_auth: HttpAuth::default(),
        a2a: None,
    }
}

/// A first turn with a deadline that is far away.
pub(crate) fn turn(prompt: &str) -> Turn {
    Turn {
        agent: Arc::new(agent()),
        history: Vec::new(),
        prompt: prompt.to_owned(),
        deadline: tokio::time::Instant::now() + Duration::from_secs(900),
        session_id: "a2a-0123".to_owned(),
    }
}

/// The concatenated text of a run, or its error.
pub(crate) async fn reply_text(
    events: BoxStream<'static, Result<RunnerEvent, RunnerError>>,
) -> Result<String, RunnerError> {
    let events: Vec<_> = events.try_collect().await?;
    let text = events.iter().filter_map(|event| match event {
        RunnerEvent::TextDelta(text) => Some(text.as_str()),
        _ => None,
    });
    Ok(text.collect())
}
