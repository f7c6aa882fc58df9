//! The runner of a deployment that names no model provider: every turn fails, and the log says what to set.

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};

use super::{Runner, RunnerError, RunnerEvent, Turn};

/// Fails every turn with [`RunnerError::NotConfigured`], so that a deployment never mistakes a canned text for an answer.
#[derive(Debug, Clone)]
pub struct UnconfiguredRunner {
    remedy: String,
}

impl UnconfiguredRunner {
    /// A runner whose error says `remedy`: which variables to set.
    pub fn new(remedy: impl Into<String>) -> Self {
        Self { remedy: remedy.into() }
    }
}

impl Runner for UnconfiguredRunner {
    fn run(&self, _: Turn) -> BoxStream<'static, Result<RunnerEvent, RunnerError>> {
        let error = RunnerError::NotConfigured(self.remedy.clone());
        stream::iter([Err(error)]).boxed()
    }
}
