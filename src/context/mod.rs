//! A conversation as stored: who may name it, who holds it right now, and what was said.

mod identity;
mod lease;
mod look;
mod record;
mod secret;

pub use identity::{ContextRequest, ResolvedContext, ResolvedKind, session_id};
pub use lease::{Acquired, Conversation, Lease, LeaseError, LeaseTimes};
pub use look::Look;
pub use record::{CompletedTurn, StoredReply, TurnKey};
pub use secret::{Contexts, SecretTooShort};
