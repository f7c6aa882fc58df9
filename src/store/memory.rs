//! The in-process back end: for tests, benchmarks and throw-away runs; what it holds ends with the process.

use std::collections::btree_map::Range;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;

use super::{
    Cursor, Etag, Op, PAGE_BYTES, Page, PartitionKey, Record, RowKey, RowRange, Store, StoreError, Write, bounds,
};
use crate::clock::{Clock, Timestamp};

/// Expired records that a commit removes for each of its steps. More than one, so that the dead can never outgrow the
/// living: every step adds at most one record.
const PURGED_PER_OP: usize = 2;

/// Records in this process's memory.
#[derive(Debug)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    records: Mutex<Records>,
}

#[derive(Debug, Default)]
struct Records {
    partitions: HashMap<PartitionKey, BTreeMap<RowKey, Slot>>,
    /// Which records expire when; the version keeps records apart that expire in the same millisecond.
    expiring: BTreeMap<(Timestamp, u64), (PartitionKey, RowKey)>,
    last_version: u64,
}

#[derive(Debug)]
struct Slot {
    value: Bytes,
    version: u64,
    expires: Option<Timestamp>,
}

impl Slot {
    fn is_live(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|expires| expires > now)
    }

    fn record(&self, row: &RowKey) -> Record {
        Record { row: row.clone(), value: self.value.clone(), etag: etag(self.version) }
    }
}

fn etag(version: u64) -> Etag {
    Etag(version.to_string())
}

impl MemoryStore {
    /// An empty store whose records expire by `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, records: Mutex::default() }
    }

    /// A commit checks before it changes anything, so that a panic elsewhere leaves nothing half done behind.
    fn lock(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn get(&self, partition: &PartitionKey, row: &RowKey) -> Result<Option<Record>, StoreError> {
        let now = self.clock.now();
        let records = self.lock();
        Ok(records.live(partition, row, now).map(|slot| slot.record(row)))
    }

    async fn scan(
        &self,
        partition: &PartitionKey,
        range: &RowRange,
        limit: usize,
        cursor: Option<&Cursor>,
    ) -> Result<Page, StoreError> {
        bounds::check_scan(limit)?;
        let after = cursor.map(|cursor| RowKey::new(cursor.0.as_str())).transpose();
        let after = after.map_err(|_| StoreError::OutOfBounds("a cursor of another store"))?;
        let now = self.clock.now();
        let records = self.lock();
        let rows = records.partitions.get(partition).and_then(|rows| rows_in(rows, range, after.as_ref()));
        let live = rows.into_iter().flatten().filter(|(_, slot)| slot.is_live(now));
        let mut page = Page { records: Vec::new(), next: None };
        let mut bytes = 0;
        for (row, slot) in live {
            if page.records.len() == limit || bytes >= PAGE_BYTES {
                page.next = page.records.last().map(|last| Cursor(last.row.as_str().to_owned()));
                break;
            }
            bytes += slot.value.len();
            page.records.push(slot.record(row));
        }
        Ok(page)
    }

    async fn commit(&self, partition: &PartitionKey, ops: &[Op]) -> Result<Vec<Option<Etag>>, StoreError> {
        bounds::check_commit(ops)?;
        let now = self.clock.now();
        let mut records = self.lock();
        if let Some(index) = ops.iter().position(|op| !records.allows(partition, op, now)) {
            return Err(StoreError::Conflict { index });
        }
        let etags = ops.iter().map(|op| records.apply(partition, op).map(etag)).collect();
        records.purge(now, ops.len() * PURGED_PER_OP);
        Ok(etags)
    }
}

/// The rows of `range` that come after `after`; `None` for a range that holds nothing.
fn rows_in<'a>(
    rows: &'a BTreeMap<RowKey, Slot>,
    range: &RowRange,
    after: Option<&RowKey>,
) -> Option<Range<'a, RowKey, Slot>> {
    let from = match (&range.from, after) {
        (Some(from), Some(after)) if from > after => Bound::Included(from),
        (_, Some(after)) => Bound::Excluded(after),
        (Some(from), None) => Bound::Included(from),
        (None, None) => Bound::Unbounded,
    };
    let to = range.to.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
    // `BTreeMap::range` panics on bounds in the wrong order.
    match (from, to) {
        (Bound::Included(from) | Bound::Excluded(from), Bound::Excluded(to)) if from >= to => None,
        bounds => Some(rows.range::<RowKey, _>(bounds)),
    }
}

impl Records {
    fn live(&self, partition: &PartitionKey, row: &RowKey, now: Timestamp) -> Option<&Slot> {
        self.partitions.get(partition)?.get(row).filter(|slot| slot.is_live(now))
    }

    fn allows(&self, partition: &PartitionKey, op: &Op, now: Timestamp) -> bool {
        let live = self.live(partition, op.row(), now);
        match op {
            Op::Insert(_) => live.is_none(),
            Op::Upsert(_) => true,
            Op::Replace { etag: seen, .. } | Op::Delete { etag: seen, .. } | Op::Check { etag: seen, .. } => {
                live.is_some_and(|slot| etag(slot.version) == *seen)
            }
        }
    }

    /// Does an allowed step, and answers the version of its row.
    fn apply(&mut self, partition: &PartitionKey, op: &Op) -> Option<u64> {
        match op {
            Op::Insert(write) | Op::Replace { write, .. } | Op::Upsert(write) => Some(self.put(partition, write)),
            Op::Delete { row, .. } => {
                self.remove(partition, row);
                None
            }
            Op::Check { row, .. } => Some(self.partitions.get(partition)?.get(row)?.version),
        }
    }

    fn put(&mut self, partition: &PartitionKey, write: &Write) -> u64 {
        self.last_version += 1;
        let version = self.last_version;
        let slot = Slot { value: write.value.clone(), version, expires: write.expires };
        if let Some(expires) = write.expires {
            self.expiring.insert((expires, version), (partition.clone(), write.row.clone()));
        }
        // Looked up first: most commits go to a partition that exists, and need no copy of its key.
        let rows = match self.partitions.get_mut(partition) {
            Some(rows) => rows,
            None => self.partitions.entry(partition.clone()).or_default(),
        };
        if let Some(Slot { version, expires: Some(expires), .. }) = rows.insert(write.row.clone(), slot) {
            self.expiring.remove(&(expires, version));
        }
        version
    }

    fn remove(&mut self, partition: &PartitionKey, row: &RowKey) {
        let Some(rows) = self.partitions.get_mut(partition) else { return };
        if let Some(Slot { version, expires: Some(expires), .. }) = rows.remove(row) {
            self.expiring.remove(&(expires, version));
        }
        if rows.is_empty() {
            self.partitions.remove(partition);
        }
    }

    /// Removes up to `limit` expired records, of whatever partition.
    fn purge(&mut self, now: Timestamp, limit: usize) {
        for _ in 0..limit {
            let Some(first) = self.expiring.first_entry() else { return };
            if first.key().0 > now {
                return;
            }
            let (partition, row) = first.remove();
            self.remove(&partition, &row);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[derive(Debug, Default)]
    struct SetClock(AtomicU64);

    impl Clock for SetClock {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(self.0.load(Ordering::Relaxed))
        }
    }

    fn upsert(row: &str, expires: u64) -> Op {
        let row = RowKey::new(row).unwrap();
        Op::Upsert(Write { row, value: Bytes::from_static(b"v"), expires: Some(Timestamp::from_millis(expires)) })
    }

    #[tokio::test]
    async fn expired_records_are_freed_by_later_commits_to_other_partitions() {
        let clock = Arc::new(SetClock::default());
        let store = MemoryStore::new(clock.clone());
        for partition in 0..50 {
            let partition = PartitionKey::new(format!("p{partition}")).unwrap();
            store.commit(&partition, &[upsert("r", 10)]).await.unwrap();
        }
        clock.0.store(10, Ordering::Relaxed);
        let busy = PartitionKey::new("busy").unwrap();
        for _ in 0..25 {
            store.commit(&busy, &[upsert("r", 1000)]).await.unwrap();
        }
        let records = store.lock();
        assert_eq!(records.partitions.keys().collect::<Vec<_>>(), [&busy]);
        assert_eq!(records.expiring.len(), 1);
    }

    #[tokio::test]
    async fn a_value_is_shared_and_not_copied() {
        let store = MemoryStore::new(Arc::new(SetClock::default()));
        let partition = PartitionKey::new("p").unwrap();
        let row = RowKey::new("r").unwrap();
        let value = Bytes::from(vec![7; 1000]);
        let write = Write { row: row.clone(), value: value.clone(), expires: None };
        store.commit(&partition, &[Op::Insert(write)]).await.unwrap();
        let read = store.get(&partition, &row).await.unwrap().unwrap();
        assert_eq!(read.value.as_ptr(), value.as_ptr());
    }
}
