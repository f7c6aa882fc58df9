//! From a runner's events to an answer that may be acknowledged: bounded, in time, and recorded first.

use futures::StreamExt as _;
use tokio::time::{Instant, timeout_at};

use crate::admission::{Permit, Slot};
use crate::context::LeaseError;
use crate::runner::{Runner, RunnerError, RunnerEvent, Turn, Usage};

/// Largest reply of the simple profile, in UTF-8 bytes.
pub const MAX_REPLY_BYTES: usize = 262_144;

/// What an agent answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The whole text; empty is an answer too.
    pub text: String,
    /// The provider's account, when it gave one.
    pub usage: Option<Usage>,
}

/// Why a turn has no answer.
#[derive(Debug, thiserror::Error)]
pub enum TurnError {
    /// The agent's run failed.
    #[error(transparent)]
    Runner(#[from] RunnerError),
    /// The reply is larger than [`MAX_REPLY_BYTES`].
    #[error("the reply is larger than {MAX_REPLY_BYTES} bytes")]
    TooLarge,
    /// The context went to another owner, or its store failed, while the agent ran.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The run panicked; what it said went to standard error.
    #[error("the run panicked")]
    Panicked,
}

/// Runs a turn to its end, keeping what it holds from lapsing on the way.
pub async fn collect(
    runner: &dyn Runner,
    turn: Turn,
    permit: &mut Permit,
    slot: &mut Slot,
) -> Result<Answer, TurnError> {
    let deadline = turn.deadline;
    let mut events = runner.run(turn);
    let mut answer = Answer::default();
    let renew_every = [permit.renew_after(), slot.renew_after()].into_iter().flatten().min();
    let mut renew_at = renew_every.map(|period| Instant::now() + period);
    loop {
        let next = timeout_at(renew_at.map_or(deadline, |at| at.min(deadline)), events.next()).await;
        match next {
            Ok(Some(Ok(RunnerEvent::TextDelta(delta)))) => {
                if answer.text.len() + delta.len() > MAX_REPLY_BYTES {
                    return Err(TurnError::TooLarge);
                }
                answer.text.push_str(&delta);
            }
            Ok(Some(Ok(RunnerEvent::Usage(usage)))) => answer.usage = Some(usage),
            Ok(Some(Ok(RunnerEvent::Done))) => return Ok(answer),
            Ok(Some(Err(error))) => return Err(error.into()),
            Ok(None) => return Err(RunnerError::Malformed("the run ended without an end".to_owned()).into()),
            Err(_) => {}
        }
        let now = Instant::now();
        if now >= deadline {
            return Err(RunnerError::DeadlineExceeded.into());
        }
        if let (Some(at), Some(period)) = (renew_at, renew_every)
            && now >= at
        {
            permit.renew().await?;
            slot.renew().await;
            renew_at = Some(Instant::now() + period);
        }
    }
}
