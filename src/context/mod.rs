//! A conversation as stored: who may name it, who holds it right now, and what was said.

mod identity;
mod lease;
mod record;

pub use identity::{
    ContextIds, ContextRequest, ResolvedContext, ResolvedKind, looks_issued, resolve_unsigned, session_id,
};
pub use lease::{Acquired, Conversation, Lease, LeaseError, LeaseTimes, Look};
pub use record::{CompletedTurn, StoredReply, TurnKey};
