//! One turn at a time per context: the lease, and the three storage calls of a turn.
//!
//! 1. *look*: one scan reads the head and the latest turns.
//! 2. *acquire*: one commit takes the head (insert, or replace the version seen) and inserts the turn row of the new
//!    epoch. The insert decides between two claimants even where a back end repeats ETags within its clock's tick.
//! 3. *commit*: one commit completes the turn row, releases the head and removes turns beyond the bounds, all conditional
//!    on the head still being ours. A stale owner cannot write, whatever its clock says.

use std::sync::Arc;
use std::time::Duration;

use super::look::{Look, TurnSeen, surplus};
use super::record::{
    CompletedTurn, Head, MAX_TURNS, PayloadHash, TurnRow, encode, end_row, head_row, partition, turn_row,
};
use crate::clock::{Clock, Timestamp};
use crate::store::{Etag, MAX_SCAN_LIMIT, Op, PartitionKey, RowKey, RowRange, Store, StoreError, Write};

/// Times that govern a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTimes {
    /// How long an ownership lasts without renewal. A crashed owner blocks its context for at most this long.
    pub duration: Duration,
    /// How long rows are kept after their last write.
    pub retention: Duration,
}

impl LeaseTimes {
    /// Owners renew when this much of the lease has passed.
    pub fn renew_after(&self) -> Duration {
        self.duration / 3
    }
}

/// Why a lease cannot be used any longer.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Another owner has taken the context: nothing of this turn may be written.
    #[error("the lease on the context was lost to another owner")]
    Lost,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The stored side of one context.
#[derive(Debug, Clone)]
pub struct Conversation {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    times: LeaseTimes,
    partition: PartitionKey,
}

/// What became of an attempt to take a context.
#[derive(Debug)]
pub enum Acquired {
    /// It is ours.
    Lease(Box<Lease>),
    /// Someone was faster; look again.
    Contended,
}

impl Conversation {
    /// The context whose session is `session_id`.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        times: LeaseTimes,
        session_id: &str,
    ) -> Result<Self, StoreError> {
        Ok(Self { store, clock, times, partition: partition(session_id)? })
    }

    /// Reads the head and the latest turns: one storage call.
    pub async fn look(&self) -> Result<Look, StoreError> {
        let range = RowRange { from: Some(head_row()?), to: Some(end_row()?) };
        let limit = (MAX_TURNS * 2).min(MAX_SCAN_LIMIT);
        let mut page = self.store.scan(&self.partition, &range, limit, None).await?;
        let mut look = Look { head: None, turns: Vec::with_capacity(page.records.len()) };
        loop {
            for record in page.records {
                if record.row == head_row()? {
                    look.head = Some((Head::decode(&record.value)?, record.etag));
                } else {
                    let content = TurnRow::decode(&record.value)?;
                    look.turns.push(TurnSeen {
                        row: record.row,
                        etag: record.etag,
                        bytes: record.value.len(),
                        content,
                    });
                }
            }
            // A back end may cut a page short; the bound on turns is ours, not the page's.
            match page.next {
                Some(next) if look.turns.len() < limit => {
                    page = self.store.scan(&self.partition, &range, limit, Some(&next)).await?;
                }
                _ => return Ok(look),
            }
        }
    }

    /// Tries to take the context as it was seen in `look`: one storage call.
    ///
    /// `owner` is a random token, the same for all attempts of one turn: when the answer to an earlier attempt was lost,
    /// the next look shows our own token and the ownership is taken up again.
    pub async fn acquire(&self, look: Look, owner: &str) -> Result<Acquired, StoreError> {
        let now = self.clock.now();
        if let Some((head, etag)) = &look.head {
            if head.owner.as_deref() == Some(owner) {
                return self.resume(look, owner);
            }
            if look.is_held(now) {
                return Ok(Acquired::Contended);
            }
            let (epoch, etag) = (head.epoch + 1, etag.clone());
            let head = Head::held(epoch, owner, now.after(self.times.duration), head.opened_by);
            let op = Op::Replace { write: self.write(head_row()?, encode(&head)?, now), etag };
            return self.claim(look, owner, epoch, op, now).await;
        }
        let head = Head::held(1, owner, now.after(self.times.duration), None);
        let op = Op::Insert(self.write(head_row()?, encode(&head)?, now));
        self.claim(look, owner, 1, op, now).await
    }

    async fn claim(
        &self,
        look: Look,
        owner: &str,
        epoch: u64,
        take_head: Op,
        now: Timestamp,
    ) -> Result<Acquired, StoreError> {
        let claim = Op::Insert(self.write(turn_row(epoch)?, encode(&TurnRow::claim(owner))?, now));
        match self.store.commit(&self.partition, &[take_head, claim]).await {
            Ok(etags) => {
                let mut etags = etags.into_iter().flatten();
                let (Some(head_etag), Some(turn_etag)) = (etags.next(), etags.next()) else {
                    return Err(StoreError::Corrupt("the store did not say which versions it wrote".to_owned()));
                };
                Ok(Acquired::Lease(Box::new(self.lease(look, owner, epoch, head_etag, turn_etag, now))))
            }
            Err(StoreError::Conflict { .. }) => Ok(Acquired::Contended),
            Err(error) => Err(error),
        }
    }

    /// Takes up an ownership that an earlier attempt won without learning of it.
    fn resume(&self, look: Look, owner: &str) -> Result<Acquired, StoreError> {
        let Some((head, head_etag)) = look.head.clone() else { return Ok(Acquired::Contended) };
        let row = turn_row(head.epoch)?;
        let Some(claim) = look.turns.iter().find(|turn| turn.row == row && turn.content.owner == owner) else {
            return Err(StoreError::Corrupt("a held context has no turn row of its owner".to_owned()));
        };
        let turn_etag = claim.etag.clone();
        let taken_at = Timestamp::from_millis(
            head.lease_ends
                .as_millis()
                .saturating_sub(u64::try_from(self.times.duration.as_millis()).unwrap_or(u64::MAX)),
        );
        Ok(Acquired::Lease(Box::new(self.lease(look, owner, head.epoch, head_etag, turn_etag, taken_at))))
    }

    fn lease(
        &self,
        look: Look,
        owner: &str,
        epoch: u64,
        head_etag: Etag,
        turn_etag: Etag,
        taken_at: Timestamp,
    ) -> Lease {
        let surplus = surplus(&look.turns, owner);
        let opened_by = look.head.as_ref().and_then(|(head, _)| head.opened_by);
        Lease {
            conversation: self.clone(),
            owner: owner.to_owned(),
            epoch,
            head_etag,
            turn_etag,
            ends: taken_at.after(self.times.duration),
            opened_by,
            surplus,
            history: look.into_completed(),
        }
    }

    fn write(&self, row: RowKey, value: bytes::Bytes, now: Timestamp) -> Write {
        Write { row, value, expires: Some(now.after(self.times.retention)) }
    }
}

/// The right to write one turn of a context.
///
/// Dropped without [`Lease::commit`] or [`Lease::release`] (a crash, a failed run), it lapses after its duration.
#[derive(Debug)]
pub struct Lease {
    conversation: Conversation,
    owner: String,
    epoch: u64,
    head_etag: Etag,
    turn_etag: Etag,
    ends: Timestamp,
    opened_by: Option<PayloadHash>,
    surplus: Vec<(RowKey, Etag)>,
    history: Vec<CompletedTurn>,
}

impl Lease {
    /// Turns before this one, oldest first; leaves nothing behind.
    pub fn take_history(&mut self) -> Vec<CompletedTurn> {
        let mut history = std::mem::take(&mut self.history);
        history.reverse();
        history
    }

    /// How long an owner may work before it should renew.
    pub fn renew_after(&self) -> Duration {
        self.conversation.times.renew_after()
    }

    /// Extends the ownership: one storage call. A store that is unavailable is tolerated while the lease lasts.
    pub async fn renew(&mut self) -> Result<(), LeaseError> {
        let now = self.conversation.clock.now();
        let ends = now.after(self.conversation.times.duration);
        let head = Head::held(self.epoch, &self.owner, ends, self.opened_by);
        let write = self.conversation.write(head_row()?, encode(&head)?, now);
        let op = Op::Replace { write, etag: self.head_etag.clone() };
        match self.conversation.store.commit(&self.conversation.partition, &[op]).await {
            Ok(etags) => {
                if let Some(Some(etag)) = etags.into_iter().next() {
                    self.head_etag = etag;
                }
                self.ends = ends;
                Ok(())
            }
            Err(StoreError::Conflict { .. }) => self.reread().await,
            Err(StoreError::Unavailable { .. }) if now < self.ends => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the finished turn and gives the context free: one storage call unless an answer gets lost.
    pub async fn commit(mut self, turn: CompletedTurn) -> Result<(), LeaseError> {
        self.opened_by.get_or_insert(PayloadHash(turn.key.payload_hash));
        let done = encode(&TurnRow::done(&self.owner, turn))?;
        for attempt in 0.. {
            match self.try_commit(&done).await {
                Ok(()) => return Ok(()),
                Err(StoreError::Conflict { .. }) if attempt < MAX_COMMIT_ATTEMPTS => {}
                Err(StoreError::Unavailable { retry_after, .. }) if attempt < MAX_COMMIT_ATTEMPTS => {
                    tokio::time::sleep(retry_after.unwrap_or(COMMIT_PAUSE).min(MAX_COMMIT_PAUSE)).await;
                }
                Err(StoreError::Conflict { .. }) => return Err(LeaseError::Lost),
                Err(error) => return Err(error.into()),
            }
            // The answer is in doubt: the rows themselves say whether the turn was written.
            match self.outcome().await {
                Ok(Outcome::Written) => return Ok(()),
                Ok(Outcome::Ours) | Err(LeaseError::Store(StoreError::Unavailable { .. })) => {}
                Err(error) => return Err(error),
            }
        }
        Err(LeaseError::Lost)
    }

    /// Gives the context free without a turn, so that the next one need not wait for the lease to lapse. Surplus rows go
    /// too: failures without end would fill the look with rows that say nothing, and hide the turns behind them.
    pub async fn release(self) -> Result<(), LeaseError> {
        let mut ops = vec![self.release_op(self.conversation.clock.now())?];
        ops.extend(self.removals());
        let mut result = self.conversation.store.commit(&self.conversation.partition, &ops).await;
        if ops.len() > 1 && matches!(result, Err(StoreError::Conflict { .. })) {
            // A surplus row may have expired meanwhile.
            ops.truncate(1);
            result = self.conversation.store.commit(&self.conversation.partition, &ops).await;
        }
        match result {
            Ok(_) => Ok(()),
            Err(StoreError::Conflict { .. }) => Err(LeaseError::Lost),
            Err(error) => Err(error.into()),
        }
    }

    fn removals(&self) -> impl Iterator<Item = Op> {
        self.surplus.iter().map(|(row, etag)| Op::Delete { row: row.clone(), etag: etag.clone() })
    }

    async fn try_commit(&self, done: &bytes::Bytes) -> Result<(), StoreError> {
        let now = self.conversation.clock.now();
        let mut ops = Vec::with_capacity(2 + self.surplus.len());
        ops.push(self.release_op(now)?);
        ops.push(Op::Replace {
            write: self.conversation.write(turn_row(self.epoch)?, done.clone(), now),
            etag: self.turn_etag.clone(),
        });
        ops.extend(self.removals());
        self.conversation.store.commit(&self.conversation.partition, &ops).await.map(drop)
    }

    fn release_op(&self, now: Timestamp) -> Result<Op, StoreError> {
        let head = Head::released(self.epoch, now, self.opened_by);
        let write = self.conversation.write(head_row()?, encode(&head)?, now);
        Ok(Op::Replace { write, etag: self.head_etag.clone() })
    }

    /// After a refused renewal: either an earlier renewal's answer was lost and the lease is ours, or it is gone.
    async fn reread(&mut self) -> Result<(), LeaseError> {
        match self.outcome().await? {
            Outcome::Ours => Ok(()),
            Outcome::Written => Err(LeaseError::Lost),
        }
    }

    async fn outcome(&mut self) -> Result<Outcome, LeaseError> {
        let look = self.conversation.look().await?;
        // Rows may have expired since the first look; what is gone must not be deleted again.
        self.surplus = surplus(&look.turns, &self.owner);
        let row = turn_row(self.epoch)?;
        let turn = look.turns.into_iter().find(|turn| turn.row == row && turn.content.owner == self.owner);
        let Some(turn) = turn else { return Err(LeaseError::Lost) };
        if turn.content.done.is_some() {
            return Ok(Outcome::Written);
        }
        match look.head {
            Some((head, etag)) if head.owner.as_deref() == Some(&self.owner) && head.epoch == self.epoch => {
                self.head_etag = etag;
                self.turn_etag = turn.etag;
                self.ends = head.lease_ends;
                Ok(Outcome::Ours)
            }
            _ => Err(LeaseError::Lost),
        }
    }
}

/// What the rows say after an answer got lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The turn is there.
    Written,
    /// The turn is not there, and the context is still ours.
    Ours,
}

const MAX_COMMIT_ATTEMPTS: u32 = 4;
const COMMIT_PAUSE: Duration = Duration::from_millis(50);
const MAX_COMMIT_PAUSE: Duration = Duration::from_secs(2);
