//! How many turns run at a time: per agent in this process, and optionally per app over all its processes.
//!
//! The bound over all processes is kept with lease slots in the store: a slot that a crashed process held comes free when
//! its lease lapses. Nobody queues for a slot.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::clock::{Clock, Random};
use crate::store::{Etag, Op, PartitionKey, Record, RowKey, RowRange, Store, StoreError, Write};

/// Largest bound over all processes, also where it is configured: all slots are read in one scan.
const MAX_GLOBAL_EXECUTIONS: usize = 1000;
const SLOT_PARTITION: &str = "execution-slots";
/// Attempts at slots that others take at the same moment.
const ATTEMPTS: usize = 8;

/// Why there is no room for a turn.
#[derive(Debug, thiserror::Error)]
pub enum CapacityError {
    /// The agent already runs its most turns in this process.
    #[error("the agent runs {0} turns in this process, its most")]
    Agent(usize),
    /// The app already runs its most turns over all processes.
    #[error("the app runs {0} turns over all its processes, its most")]
    App(usize),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The bound on turns that run at a time over all processes.
#[derive(Debug)]
pub struct Capacity {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    slots: usize,
    lease: Duration,
}

/// Room for one turn; dropping it gives the process's share back.
#[derive(Debug)]
pub struct Slot {
    _agent: OwnedSemaphorePermit,
    global: Option<GlobalSlot>,
}

#[derive(Debug)]
struct GlobalSlot {
    capacity: Arc<Capacity>,
    row: RowKey,
    owner: Bytes,
    etag: Etag,
}

impl Capacity {
    /// At most `slots` turns (1 to 1000) over all processes that share `store`; a slot that is not
    /// renewed comes free after `lease`.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        slots: usize,
        lease: Duration,
    ) -> Self {
        Self { store, clock, random, slots: slots.min(MAX_GLOBAL_EXECUTIONS), lease }
    }

    async fn acquire(self: &Arc<Self>) -> Result<GlobalSlot, CapacityError> {
        let partition = slot_partition()?;
        let owner = Bytes::from(self.random.id());
        for _ in 0..ATTEMPTS {
            let page = self.store.scan(&partition, &RowRange::default(), MAX_GLOBAL_EXECUTIONS, None).await?;
            let Some(row) = self.free_row(&page.records)? else {
                return Err(CapacityError::App(self.slots));
            };
            // An expired slot is absent to the store: an insert is all it takes, and exactly one of many wins it.
            let insert = Op::Insert(self.write(&row, &owner));
            match self.store.commit(&partition, &[insert]).await {
                Ok(etags) => {
                    let etag = etags.into_iter().flatten().next().ok_or_else(|| {
                        StoreError::Corrupt("the store did not say which version it wrote".to_owned())
                    })?;
                    return Ok(GlobalSlot { capacity: Arc::clone(self), row, owner, etag });
                }
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(CapacityError::App(self.slots))
    }

    /// One of the free slots, drawn at random so that claimants do not all want the same.
    fn free_row(&self, taken: &[Record]) -> Result<Option<RowKey>, StoreError> {
        let mut free = Vec::new();
        for index in 0..self.slots {
            let row = slot_row(index)?;
            if !taken.iter().any(|record| record.row == row) {
                free.push(row);
            }
        }
        if free.is_empty() {
            return Ok(None);
        }
        let [a, b, c, d, ..] = self.random.bytes16();
        let drawn = u32::from_le_bytes([a, b, c, d]) as usize % free.len();
        Ok(Some(free.swap_remove(drawn)))
    }

    fn write(&self, row: &RowKey, owner: &Bytes) -> Write {
        Write { row: row.clone(), value: owner.clone(), expires: Some(self.clock.now().after(self.lease)) }
    }
}

impl Slot {
    /// Makes room for one turn of an agent: its share of this process first, then one of the app's slots, if bounded.
    pub async fn enter(
        agent: &Arc<Semaphore>,
        bound: usize,
        global: Option<&Arc<Capacity>>,
    ) -> Result<Self, CapacityError> {
        let permit = Arc::clone(agent).try_acquire_owned().map_err(|_| CapacityError::Agent(bound))?;
        let global = match global {
            Some(capacity) => Some(capacity.acquire().await?),
            None => None,
        };
        Ok(Self { _agent: permit, global })
    }

    /// Sees `wait` to its end and keeps the slot ours meanwhile.
    pub async fn keep_during<T>(&mut self, wait: impl Future<Output = T>) -> T {
        let Some(period) = self.renew_after() else { return wait.await };
        let mut wait = pin!(wait);
        loop {
            match timeout(period, &mut wait).await {
                Ok(done) => return done,
                // Not raced with the wait: a renewal that is dropped half way loses the slot's version.
                Err(_) => self.renew().await,
            }
        }
    }

    /// How long a runner may work before [`Slot::renew`] is due; `None` when there is nothing to renew.
    pub fn renew_after(&self) -> Option<Duration> {
        self.global.as_ref().map(|slot| slot.capacity.lease / 3)
    }

    /// Keeps the slot ours. Losing it is no reason to stop: the turn still holds its context.
    pub async fn renew(&mut self) {
        let Some(slot) = &mut self.global else { return };
        let Ok(partition) = slot_partition() else { return };
        let write = slot.capacity.write(&slot.row, &slot.owner);
        match slot.capacity.store.commit(&partition, &[Op::Replace { write, etag: slot.etag.clone() }]).await {
            Ok(etags) => {
                if let Some(etag) = etags.into_iter().flatten().next() {
                    slot.etag = etag;
                }
            }
            Err(error) => tracing::warn!(%error, "an execution slot was not renewed"),
        }
    }

    /// Gives the slot back to the other processes at once, instead of when its lease lapses.
    pub async fn leave(self) {
        let Some(slot) = self.global else { return };
        let Ok(partition) = slot_partition() else { return };
        let delete = Op::Delete { row: slot.row, etag: slot.etag };
        match slot.capacity.store.commit(&partition, &[delete]).await {
            Ok(_) | Err(StoreError::Conflict { .. }) => {}
            Err(error) => tracing::warn!(%error, "an execution slot stays taken until its lease lapses"),
        }
    }
}

fn slot_partition() -> Result<PartitionKey, StoreError> {
    PartitionKey::new(SLOT_PARTITION).map_err(|_| StoreError::OutOfBounds("the partition of slots has no legal name"))
}

fn slot_row(index: usize) -> Result<RowKey, StoreError> {
    RowKey::new(format!("slot-{index:04}")).map_err(|_| StoreError::OutOfBounds("a slot has no legal name"))
}
