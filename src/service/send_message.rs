//! `SendMessage` under the simple profile: find the context, get in, run the agent, record the turn, answer.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use tracing::{Instrument as _, field};

use super::simple::SimpleTurn;
use super::{ServedAgent, Service};
use crate::admission::{AdmissionError, Admitted, CapacityError, Permit, Slot, TurnRequest};
use crate::auth::Caller;
use crate::context::{CompletedTurn, ContextRequest, LeaseError, ResolvedContext, StoredReply, TurnKey};
use crate::protocol::wire::{SendMessageResponse, text_reply};
use crate::protocol::{ErrorKind, ServiceError};
use crate::reply::{self, Answer, MAX_REPLY_BYTES, TurnError};
use crate::runner::{RunnerError, Speaker, Turn, Utterance};
use crate::store::StoreError;

/// How long a caller should wait before it tries a busy agent or context again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// What lets a repeat of a request without a context be recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repeat {
    /// Nothing: the message opens a context of its own each time.
    Unknown,
    /// The host's own id of the request, which its retries keep.
    Invocation(String),
    /// The client's promise that this key names one request for good.
    Key(String),
    /// The client's promise that a `messageId` names one message for good.
    MessageId,
}

/// An answer, and how it came about.
#[derive(Debug)]
pub struct Sent {
    /// What goes back to the caller.
    pub response: SendMessageResponse,
    /// The turn was answered before, and the agent did not run again.
    pub replayed: bool,
}

/// A turn on its way, owned: it outlives the connection that brought it.
struct Conduct {
    service: Arc<Service>,
    served: Arc<ServedAgent>,
    context: ResolvedContext,
    turn: SimpleTurn,
    exclusive: bool,
    deadline: Instant,
}

impl Service {
    pub(super) async fn send_message(
        self: &Arc<Self>,
        served: &Arc<ServedAgent>,
        caller: &Caller,
        turn: SimpleTurn,
        repeat: Repeat,
    ) -> Result<Sent, ServiceError> {
        let deadline = Instant::now() + served.agent.timeout;
        let request = ContextRequest {
            scope: caller.scope(),
            slug: &served.agent.slug,
            requested: turn.context_id.as_deref(),
            seed: self.seed(caller.scope(), &served.agent.slug, &turn.message_id, &repeat),
        };
        let context =
            self.contexts.resolve(served.endpoint.context, &request).await.map_err(|error| store_failed(&error))?;
        let exclusive = turn.context_id.is_none() && matches!(repeat, Repeat::Key(_) | Repeat::MessageId);
        let conduct =
            Conduct { service: Arc::clone(self), served: Arc::clone(served), context, turn, exclusive, deadline };
        // A task of its own: a caller that hangs up stops nothing, and a panic is this turn's failure alone.
        let running = tokio::spawn(conduct.run().in_current_span());
        running.await.unwrap_or_else(|panic| Err(ServiceError::internal(panic)))
    }

    /// Randomness for a new context; the same for every repeat of a request that can be recognised.
    fn seed(&self, scope: &str, slug: &str, message_id: &str, repeat: &Repeat) -> [u8; 16] {
        let (kind, key) = match repeat {
            Repeat::Unknown => return self.random.bytes16(),
            Repeat::Invocation(id) => ("invocation", id.as_str()),
            Repeat::Key(key) => ("key", key.as_str()),
            Repeat::MessageId => ("message", message_id),
        };
        let mut hash = Sha256::new_with_prefix("a2a-functions context seed v1");
        for text in [kind, scope, slug, key] {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
        let digest: [u8; 32] = hash.finalize().into();
        *digest.first_chunk().unwrap_or(&[0; 16])
    }
}

impl Conduct {
    async fn run(self) -> Result<Sent, ServiceError> {
        let served = &self.served;
        let mut slot = Slot::enter(&served.running, served.bound, self.service.capacity.as_ref())
            .await
            .map_err(|error| no_room(&error))?;
        let sent = self.run_in(&mut slot).await;
        slot.leave().await;
        sent
    }

    async fn run_in(&self, slot: &mut Slot) -> Result<Sent, ServiceError> {
        let key = TurnKey { message_id: self.turn.message_id.clone(), payload_hash: self.turn.payload_hash };
        let request = TurnRequest {
            context: &self.context,
            key,
            context_wait: self.served.endpoint.context_wait,
            deadline: self.deadline,
            exclusive: self.exclusive,
        };
        match self.service.admission.admit(request).await.map_err(|error| not_admitted(&error))? {
            Admitted::Replay(reply) => Ok(self.sent(reply, true)),
            Admitted::Run(permit) => {
                let reply = self.run_agent(permit, slot).await?;
                Ok(self.sent(reply, false))
            }
        }
    }

    /// Runs the agent and records the turn. Names of the span's fields are those of the Python runtime, so that dashboards
    /// made for it keep working.
    async fn run_agent(&self, mut permit: Permit, slot: &mut Slot) -> Result<StoredReply, ServiceError> {
        let agent = &self.served.agent;
        let span = tracing::info_span!(
            "agent.run",
            "otel.name" = format!("agent.run {}", agent.slug),
            "af.agent.name" = agent.slug,
            "af.agent.display_name" = agent.name,
            "af.agent.trigger_type" = "builtin_a2a",
            "af.agent.session_id" = self.context.session_id,
            "af.agent.model" = agent.model,
            "af.agent.input_bytes" = self.turn.prompt.chars().count(),
            "af.agent.response_bytes" = field::Empty,
            "af.agent.tool_call_count" = 0,
            "af.agent.tool_error_count" = 0,
            "af.agent.outcome" = field::Empty,
            "af.lifecycle_stage" = "agent_run",
            "af.fault_domain" = field::Empty,
        );
        let turn = Turn {
            agent: Arc::clone(agent),
            history: utterances(permit.take_history()),
            prompt: self.turn.prompt.clone(),
            deadline: self.deadline,
            session_id: self.context.session_id.clone(),
        };
        let run = reply::collect(&*self.service.runner, turn, &mut permit, slot).instrument(span.clone());
        // A panic ends the run alone: the context is given free like after any other failure.
        let outcome = AssertUnwindSafe(run).catch_unwind().await;
        match outcome.unwrap_or(Err(TurnError::Panicked)) {
            Ok(answer) => {
                span.record("af.agent.outcome", "success");
                span.record("af.agent.response_bytes", answer.text.chars().count());
                self.record(permit, answer).instrument(span).await
            }
            Err(error) => {
                span.record("af.agent.outcome", "error");
                span.record("af.fault_domain", fault_domain(&error));
                give_up(permit, &error).await;
                Err(turn_failed(error))
            }
        }
    }

    async fn record(&self, permit: Permit, answer: Answer) -> Result<StoredReply, ServiceError> {
        let reply = StoredReply { message_id: self.service.random.id(), text: answer.text };
        permit.commit(self.turn.prompt.clone(), reply.clone()).await.map_err(lease_failed)?;
        Ok(reply)
    }

    fn sent(&self, reply: StoredReply, replayed: bool) -> Sent {
        Sent { response: text_reply(reply.message_id, self.context.id.clone(), reply.text), replayed }
    }
}

fn utterances(turns: Vec<CompletedTurn>) -> Vec<Utterance> {
    turns
        .into_iter()
        .flat_map(|turn| {
            [
                Utterance { speaker: Speaker::User, text: turn.prompt },
                Utterance { speaker: Speaker::Agent, text: turn.reply.text },
            ]
        })
        .collect()
}

/// Gives the context free after a run that failed, unless it is no longer ours.
async fn give_up(permit: Permit, error: &TurnError) {
    if matches!(error, TurnError::Lease(LeaseError::Lost)) {
        return;
    }
    if let Err(error) = permit.release().await {
        tracing::warn!(%error, "a context stays taken until its lease lapses");
    }
}

fn no_room(error: &CapacityError) -> ServiceError {
    match error {
        CapacityError::Agent(bound) => ServiceError::new(
            ErrorKind::AgentAtCapacity,
            format!("The agent runs {bound} turns, its most, at this time."),
        )
        .retry_after(RETRY_AFTER),
        CapacityError::App(bound) => ServiceError::new(
            ErrorKind::AgentAtCapacity,
            format!("The app runs {bound} turns, its most, at this time."),
        )
        .retry_after(RETRY_AFTER),
        CapacityError::Store(error) => store_failed(error),
    }
}

fn not_admitted(error: &AdmissionError) -> ServiceError {
    match error {
        AdmissionError::ContextBusy => {
            ServiceError::new(ErrorKind::ContextBusy, "Another turn of this context is still running.")
                .retry_after(RETRY_AFTER)
        }
        AdmissionError::KeyReused => ServiceError::new(
            ErrorKind::InvalidParams,
            "The idempotency key was used before, for a message with other content.",
        ),
        AdmissionError::Store(error) => store_failed(error),
    }
}

fn store_failed(error: &StoreError) -> ServiceError {
    let cause = error.to_string();
    match error {
        StoreError::Unavailable { retry_after, .. } => {
            ServiceError::new(ErrorKind::Unavailable, "The server's storage is out of reach at this time.")
                .retry_after(retry_after.unwrap_or(RETRY_AFTER))
                .caused_by(cause)
        }
        _ => ServiceError::internal(cause),
    }
}

fn lease_failed(error: LeaseError) -> ServiceError {
    match error {
        LeaseError::Store(error) => store_failed(&error),
        LeaseError::Lost => {
            ServiceError::new(ErrorKind::ContextBusy, "Another turn of this context has overtaken this one.")
                .retry_after(RETRY_AFTER)
                .caused_by(error)
        }
    }
}

fn turn_failed(error: TurnError) -> ServiceError {
    match error {
        TurnError::TooLarge => ServiceError::new(
            ErrorKind::InvalidAgentResponse,
            format!("The agent's reply is larger than {MAX_REPLY_BYTES} bytes."),
        ),
        TurnError::Lease(error) => lease_failed(error),
        TurnError::Runner(_) | TurnError::Panicked => {
            ServiceError::new(ErrorKind::Internal, "The agent failed to answer.").caused_by(error)
        }
    }
}

/// Who is to blame for a failed run, in the Python runtime's words.
fn fault_domain(error: &TurnError) -> &'static str {
    match error {
        TurnError::TooLarge | TurnError::Runner(RunnerError::NotConfigured(_)) => "app",
        TurnError::Runner(RunnerError::Refused(_) | RunnerError::Unavailable(_) | RunnerError::Malformed(_)) => "model",
        TurnError::Lease(_) => "platform",
        TurnError::Runner(_) | TurnError::Panicked => "unknown",
    }
}
