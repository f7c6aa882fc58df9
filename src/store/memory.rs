//! The store of a single process that keeps nothing: for tests, benchmarks and trying things out.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;

use super::check_commit;
use super::{Cursor, Etag, MAX_SCAN_LIMIT, Op, Page, PartitionKey, Record, RowKey, RowRange, Store, StoreError, Write};
use crate::clock::{Clock, Timestamp};

/// Partitions that a commit looks through for expired records: what expires is removed without a pass over everything.
const PURGED_PER_COMMIT: usize = 2;

/// Records in this process's memory. A commit is atomic: one lock covers all partitions.
#[derive(Debug)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    partitions: HashMap<PartitionKey, BTreeMap<RowKey, Stored>>,
    /// Version of the last write; every write gets the next one.
    version: u64,
    /// Partitions in the order in which their turn to be purged comes.
    purge_queue: std::collections::VecDeque<PartitionKey>,
}

#[derive(Debug)]
struct Stored {
    value: Bytes,
    version: u64,
    expires: Option<Timestamp>,
}

impl Stored {
    fn is_alive(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|expires| expires > now)
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No step of a commit can panic half way, so a poisoned lock guards whole records.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn record(row: &RowKey, stored: &Stored) -> Record {
    Record { row: row.clone(), value: stored.value.clone(), etag: Etag(stored.version.to_string()) }
}

#[async_trait]
impl Store for MemoryStore {
    async fn get(&self, partition: &PartitionKey, row: &RowKey) -> Result<Option<Record>, StoreError> {
        let now = self.clock.now();
        let state = self.state();
        let stored = state.partitions.get(partition).and_then(|rows| rows.get(row));
        Ok(stored.filter(|stored| stored.is_alive(now)).map(|stored| record(row, stored)))
    }

    async fn scan(
        &self,
        partition: &PartitionKey,
        range: &RowRange,
        limit: usize,
        cursor: Option<&Cursor>,
    ) -> Result<Page, StoreError> {
        let limit = limit.clamp(1, MAX_SCAN_LIMIT);
        let from = match cursor {
            Some(Cursor(row)) => {
                Some(RowKey::new(row.clone()).map_err(|_| StoreError::OutOfBounds("the cursor is not one of ours"))?)
            }
            None => range.from.clone(),
        };
        let bounds = (
            from.as_ref().map_or(Bound::Unbounded, Bound::Included),
            range.to.as_ref().map_or(Bound::Unbounded, Bound::Excluded),
        );
        if let (Bound::Included(from), Bound::Excluded(to)) = bounds
            && from >= to
        {
            return Ok(Page { records: Vec::new(), next: None });
        }
        let now = self.clock.now();
        let state = self.state();
        let Some(rows) = state.partitions.get(partition) else {
            return Ok(Page { records: Vec::new(), next: None });
        };
        let mut alive = rows.range::<RowKey, _>(bounds).filter(|(_, stored)| stored.is_alive(now));
        let records = alive.by_ref().take(limit).map(|(row, stored)| record(row, stored)).collect();
        let next = alive.next().map(|(row, _)| Cursor(row.as_str().to_owned()));
        Ok(Page { records, next })
    }

    async fn commit(&self, partition: &PartitionKey, ops: &[Op]) -> Result<Vec<Option<Etag>>, StoreError> {
        check_commit(ops)?;
        let now = self.clock.now();
        let mut state = self.state();
        let rows = state.partitions.get(partition);
        for (index, op) in ops.iter().enumerate() {
            let alive = rows.and_then(|rows| rows.get(op.row())).filter(|stored| stored.is_alive(now));
            let holds = match op {
                Op::Insert(_) => alive.is_none(),
                Op::Upsert(_) => true,
                Op::Replace { etag, .. } | Op::Delete { etag, .. } | Op::Check { etag, .. } => {
                    alive.is_some_and(|stored| stored.version.to_string() == etag.0)
                }
            };
            if !holds {
                return Err(StoreError::Conflict { index });
            }
        }
        let etags = state.apply(partition, ops);
        state.purge(now);
        Ok(etags)
    }
}

impl State {
    /// Carries out steps whose conditions hold.
    fn apply(&mut self, partition: &PartitionKey, ops: &[Op]) -> Vec<Option<Etag>> {
        if !self.partitions.contains_key(partition) {
            self.purge_queue.push_back(partition.clone());
        }
        let rows = self.partitions.entry(partition.clone()).or_default();
        let mut etags = Vec::with_capacity(ops.len());
        for op in ops {
            etags.push(match op {
                Op::Insert(write) | Op::Replace { write, .. } | Op::Upsert(write) => {
                    self.version += 1;
                    let Write { row, value, expires } = write.clone();
                    rows.insert(row, Stored { value, version: self.version, expires });
                    Some(Etag(self.version.to_string()))
                }
                Op::Delete { row, .. } => {
                    rows.remove(row);
                    None
                }
                Op::Check { etag, .. } => Some(etag.clone()),
            });
        }
        etags
    }

    /// Removes expired records of the partitions whose turn it is, and partitions that became empty.
    fn purge(&mut self, now: Timestamp) {
        for _ in 0..PURGED_PER_COMMIT.min(self.purge_queue.len()) {
            let Some(partition) = self.purge_queue.pop_front() else { return };
            let Some(rows) = self.partitions.get_mut(&partition) else { continue };
            rows.retain(|_, stored| stored.is_alive(now));
            if rows.is_empty() {
                self.partitions.remove(&partition);
            } else {
                self.purge_queue.push_back(partition);
            }
        }
    }
}
