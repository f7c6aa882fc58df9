//! The rules of A2A, apart from how requests arrive and where anything is kept.

pub mod fingerprint;
mod send_message;
pub mod simple;

use std::sync::Arc;

use tokio::sync::Semaphore;

pub use send_message::{Repeat, Sent};

use crate::admission::{Admission, Capacity};
use crate::agents::{A2aEndpoint, Agent};
use crate::auth::Caller;
use crate::clock::Random;
use crate::context::Contexts;
use crate::protocol::{Request, ServiceError};
use crate::runner::Runner;

/// The semantics of A2A over whatever store and runner it was built with.
#[derive(Debug)]
pub struct Service {
    /// Takes contexts.
    pub admission: Admission,
    /// The bound over all processes, when there is one.
    pub capacity: Option<Arc<Capacity>>,
    /// Finds contexts.
    pub contexts: Contexts,
    /// Runs agents.
    pub runner: Arc<dyn Runner>,
    /// Identifiers.
    pub random: Arc<dyn Random>,
}

/// An agent that is reachable over A2A, with its share of this process.
#[derive(Debug)]
pub struct ServedAgent {
    agent: Arc<Agent>,
    endpoint: A2aEndpoint,
    bound: usize,
    running: Arc<Semaphore>,
}

impl ServedAgent {
    /// Serves `agent` with at most `bound` turns at a time in this process; `None` when it declares no A2A endpoint.
    pub fn new(agent: Arc<Agent>, bound: usize) -> Option<Self> {
        let endpoint = agent.a2a.clone()?;
        Some(Self { agent, endpoint, bound, running: Arc::new(Semaphore::new(bound)) })
    }

    /// The agent.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }
}

impl Service {
    /// Carries out a request of `caller` for an agent. It goes on when the caller hangs up: the answer is kept for the
    /// repeat that is likely to follow.
    pub async fn call(
        self: &Arc<Self>,
        agent: &Arc<ServedAgent>,
        caller: &Caller,
        request: Request,
        repeat: Repeat,
    ) -> Result<Sent, ServiceError> {
        let turn = simple::accept(request)?;
        self.send_message(agent, caller, turn, repeat).await
    }
}
