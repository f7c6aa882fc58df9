//! Whether a turn may run: capacity, one turn at a time per context, and the replay of turns that were answered before.

mod capacity;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

pub use capacity::{Capacity, CapacityError, Slot};

use crate::clock::{Clock, Random};
use crate::context::{
    Acquired, CompletedTurn, Conversation, Lease, LeaseError, LeaseTimes, ResolvedContext, ResolvedKind, StoredReply,
    TurnKey,
};
use crate::store::{Store, StoreError};

/// Pauses between looks at a context that another owner holds; each is drawn from half of it up to the whole.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Attempts at a store that is unavailable before the turn is refused.
const STORE_ATTEMPTS: u32 = 3;

/// A turn that asks to run.
#[derive(Debug)]
pub struct TurnRequest<'a> {
    /// The context it belongs to.
    pub context: &'a ResolvedContext,
    /// What makes a repeat of it recognisable.
    pub key: TurnKey,
    /// How long it may wait for a turn of the same context; zero refuses at once.
    pub context_wait: Duration,
    /// When it must be over; waiting ends by then at the latest.
    pub deadline: Instant,
    /// The context was named by the client's own idempotency key: a different turn under the same key is a mistake.
    pub exclusive: bool,
}

/// What admission decided.
#[derive(Debug)]
pub enum Admitted {
    /// The agent may run.
    Run(Permit),
    /// The same turn was answered before: this is the answer.
    Replay(StoredReply),
}

/// Why a turn may not run.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionError {
    /// Another turn of the context is still running.
    #[error("another turn of this context is running")]
    ContextBusy,
    /// The idempotency key was used for a request with other content.
    #[error("the idempotency key was used before, for a request with other content")]
    KeyReused,
    /// The idempotency key was used for this very request; so long ago that its answer has been removed.
    #[error("the request was answered before, and its answer is no longer kept")]
    AnswerGone,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The right to run one turn of an agent. Only [`Admission::admit`] makes one.
#[derive(Debug)]
pub struct Permit {
    lease: Option<Box<Lease>>,
    key: TurnKey,
}

impl Permit {
    /// Earlier turns of the context, oldest first.
    pub fn take_history(&mut self) -> Vec<CompletedTurn> {
        self.lease.as_mut().map(|lease| lease.take_history()).unwrap_or_default()
    }

    /// How long a runner may work before [`Permit::renew`] is due; `None` when there is nothing to renew.
    pub fn renew_after(&self) -> Option<Duration> {
        self.lease.as_ref().map(|lease| lease.renew_after())
    }

    /// Keeps the context ours.
    pub async fn renew(&mut self) -> Result<(), LeaseError> {
        match &mut self.lease {
            Some(lease) => lease.renew().await,
            None => Ok(()),
        }
    }

    /// Records the finished turn, so that it may be acknowledged.
    pub async fn commit(self, prompt: String, reply: StoredReply) -> Result<(), LeaseError> {
        match self.lease {
            Some(lease) => lease.commit(CompletedTurn { key: self.key, prompt, reply }).await,
            None => Ok(()),
        }
    }

    /// Gives the context free after a run that failed.
    pub async fn release(self) -> Result<(), LeaseError> {
        match self.lease {
            Some(lease) => lease.release().await,
            None => Ok(()),
        }
    }
}

/// Admits turns to contexts.
#[derive(Debug, Clone)]
pub struct Admission {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    times: LeaseTimes,
}

impl Admission {
    /// Admission over `store`.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, random: Arc<dyn Random>, times: LeaseTimes) -> Self {
        Self { store, clock, random, times }
    }

    /// Waits until the context is free, and takes it.
    pub async fn admit(&self, request: TurnRequest<'_>) -> Result<Admitted, AdmissionError> {
        if request.context.kind == ResolvedKind::Stateless {
            return Ok(Admitted::Run(Permit { lease: None, key: request.key }));
        }
        let conversation = Conversation::new(
            Arc::clone(&self.store),
            Arc::clone(&self.clock),
            self.times,
            &request.context.session_id,
        )?;
        let owner = self.random.id();
        let give_up = request.deadline.min(Instant::now() + request.context_wait);
        let mut pause = FIRST_PAUSE;
        let mut failures = 0;
        loop {
            let contended = match self.attempt(&conversation, &request, &owner).await {
                Ok(Some(admitted)) => return Ok(admitted),
                Ok(None) => true,
                Err(AdmissionError::Store(StoreError::Unavailable { .. })) if failures + 1 < STORE_ATTEMPTS => {
                    failures += 1;
                    false
                }
                Err(error) => return Err(error),
            };
            let now = Instant::now();
            if contended && now >= give_up {
                return Err(AdmissionError::ContextBusy);
            }
            let jittered = pause.mul_f64(0.5 + self.random.unit() / 2.0);
            tokio::time::sleep(jittered.min(give_up.saturating_duration_since(now).max(FIRST_PAUSE))).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// One look and, when the context is free, one attempt to take it. `None`: someone else has it.
    async fn attempt(
        &self,
        conversation: &Conversation,
        request: &TurnRequest<'_>,
        owner: &str,
    ) -> Result<Option<Admitted>, AdmissionError> {
        let look = conversation.look().await?;
        if let Some(turn) = look.completed().find(|turn| turn.key == request.key) {
            return Ok(Some(Admitted::Replay(turn.reply.clone())));
        }
        if request.exclusive
            && let Some(opened_by) = look.opened_by()
        {
            let same = opened_by == request.key.payload_hash;
            return Err(if same { AdmissionError::AnswerGone } else { AdmissionError::KeyReused });
        }
        match conversation.acquire(look, owner).await? {
            Acquired::Lease(lease) => Ok(Some(Admitted::Run(Permit { lease: Some(lease), key: request.key.clone() }))),
            Acquired::Contended => Ok(None),
        }
    }
}
