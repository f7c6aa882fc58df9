//! What one scan of a context shows: who holds it, what was said, and which rows are too many.

use super::record::{CompletedTurn, Head, MAX_HISTORY_BYTES, MAX_TURNS, TurnRow};
use crate::clock::Timestamp;
use crate::store::{Etag, RowKey};

/// What a look at a context showed.
#[derive(Debug)]
pub struct Look {
    pub(super) head: Option<(Head, Etag)>,
    pub(super) turns: Vec<TurnSeen>,
}

#[derive(Debug)]
pub(super) struct TurnSeen {
    pub(super) row: RowKey,
    pub(super) etag: Etag,
    pub(super) bytes: usize,
    pub(super) content: TurnRow,
}

impl Look {
    /// Acknowledged turns, newest first.
    pub fn completed(&self) -> impl Iterator<Item = &CompletedTurn> {
        self.turns.iter().filter_map(|turn| turn.content.done.as_ref())
    }

    /// Payload hash of the first turn that was answered, however long ago.
    pub fn opened_by(&self) -> Option<[u8; 32]> {
        self.head.as_ref()?.0.opened_by.map(|hash| hash.0)
    }

    /// Whether another owner runs a turn at `now`.
    pub fn is_held(&self, now: Timestamp) -> bool {
        self.head.as_ref().is_some_and(|(head, _)| head.owner.is_some() && head.lease_ends > now)
    }

    /// Acknowledged turns, newest first, and by value.
    pub(super) fn into_completed(self) -> Vec<CompletedTurn> {
        self.turns.into_iter().filter_map(|turn| turn.content.done).collect()
    }
}

/// Turn rows beyond the bounds, and rows of turns whose owner was lost: all that the commit of `owner` should remove.
///
/// The newest row of another owner stays even when its turn was lost: its insert is what decides against a claimant that
/// looked before that owner did.
pub(super) fn surplus(turns: &[TurnSeen], owner: &str) -> Vec<(RowKey, Etag)> {
    let mut kept = 0;
    let mut bytes = 0;
    let mut surplus = Vec::new();
    for (age, turn) in turns.iter().filter(|turn| turn.content.owner != owner).enumerate() {
        bytes += turn.bytes;
        let abandoned = turn.content.done.is_none() && age > 0;
        // Room is left for the turn that is about to be written.
        if abandoned || kept + 1 >= MAX_TURNS || (kept > 0 && bytes > MAX_HISTORY_BYTES) {
            surplus.push((turn.row.clone(), turn.etag.clone()));
        } else {
            kept += 1;
        }
    }
    surplus.truncate(MAX_TURNS);
    surplus
}
