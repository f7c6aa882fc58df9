//! A store that counts and times the calls to another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tracing::{Instrument as _, Span, debug_span, field};

use super::{Cursor, Etag, Op, Page, PartitionKey, Record, RowKey, RowRange, Store, StoreError};

/// Passes every call on to another store, counts it and puts it into a `tracing` span: `store.get`, `store.scan` or
/// `store.commit`, with `elapsed_us` (microseconds) and `outcome`.
#[derive(Debug)]
pub struct ObservedStore {
    inner: Arc<dyn Store>,
    gets: AtomicU64,
    scans: AtomicU64,
    commits: AtomicU64,
}

/// How many calls of each kind went through a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreCalls {
    /// Single reads.
    pub gets: u64,
    /// Scans, each page counted.
    pub scans: u64,
    /// Commits, refused ones included.
    pub commits: u64,
}

impl StoreCalls {
    /// All calls: the round trips, where a back end needs one for each.
    pub fn total(&self) -> u64 {
        self.gets + self.scans + self.commits
    }

    /// The calls made after `earlier` was read off the same store.
    #[must_use]
    pub fn since(&self, earlier: Self) -> Self {
        Self {
            gets: self.gets - earlier.gets,
            scans: self.scans - earlier.scans,
            commits: self.commits - earlier.commits,
        }
    }
}

impl ObservedStore {
    /// Observes `inner`.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, gets: AtomicU64::new(0), scans: AtomicU64::new(0), commits: AtomicU64::new(0) }
    }

    /// The calls so far.
    pub fn calls(&self) -> StoreCalls {
        StoreCalls {
            gets: self.gets.load(Ordering::Relaxed),
            scans: self.scans.load(Ordering::Relaxed),
            commits: self.commits.load(Ordering::Relaxed),
        }
    }
}

/// Runs `call` inside `span` and writes its outcome and duration there.
async fn timed<T>(span: Span, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let started = Instant::now();
    let result = call.instrument(span.clone()).await;
    span.record("elapsed_us", micros(started.elapsed()));
    span.record("outcome", result.as_ref().err().map_or("ok", outcome));
    result
}

fn micros(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX)
}

fn outcome(error: &StoreError) -> &'static str {
    match error {
        StoreError::Conflict { .. } => "conflict",
        StoreError::Unavailable { .. } => "unavailable",
        StoreError::OutOfBounds(_) => "out_of_bounds",
        StoreError::Denied(_) => "denied",
        StoreError::Unusable(_) => "unusable",
        StoreError::Corrupt(_) => "corrupt",
    }
}

#[async_trait]
impl Store for ObservedStore {
    async fn prepare(&self) -> Result<(), StoreError> {
        self.inner.prepare().await
    }

    async fn get(&self, partition: &PartitionKey, row: &RowKey) -> Result<Option<Record>, StoreError> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        let span = debug_span!("store.get", elapsed_us = field::Empty, outcome = field::Empty);
        timed(span, self.inner.get(partition, row)).await
    }

    async fn scan(
        &self,
        partition: &PartitionKey,
        range: &RowRange,
        limit: usize,
        cursor: Option<&Cursor>,
    ) -> Result<Page, StoreError> {
        self.scans.fetch_add(1, Ordering::Relaxed);
        let span = debug_span!("store.scan", limit, elapsed_us = field::Empty, outcome = field::Empty);
        timed(span, self.inner.scan(partition, range, limit, cursor)).await
    }

    async fn commit(&self, partition: &PartitionKey, ops: &[Op]) -> Result<Vec<Option<Etag>>, StoreError> {
        self.commits.fetch_add(1, Ordering::Relaxed);
        let span = debug_span!("store.commit", ops = ops.len(), elapsed_us = field::Empty, outcome = field::Empty);
        timed(span, self.inner.commit(partition, ops)).await
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::clock::SystemClock;
    use crate::store::Write;
    use crate::store::memory::MemoryStore;

    #[tokio::test]
    async fn calls_are_counted_by_kind_whatever_their_outcome() {
        let store = ObservedStore::new(Arc::new(MemoryStore::new(Arc::new(SystemClock))));
        let partition = PartitionKey::new("p").unwrap();
        let row = RowKey::new("r").unwrap();
        let insert = Op::Insert(Write { row: row.clone(), value: Bytes::new(), expires: None });
        store.commit(&partition, std::slice::from_ref(&insert)).await.unwrap();
        store.commit(&partition, &[insert]).await.unwrap_err();
        let before = store.calls();
        store.get(&partition, &row).await.unwrap();
        store.scan(&partition, &RowRange::default(), 1, None).await.unwrap();
        assert_eq!(before, StoreCalls { gets: 0, scans: 0, commits: 2 });
        assert_eq!(store.calls().since(before), StoreCalls { gets: 1, scans: 1, commits: 0 });
        assert_eq!(store.calls().total(), 4);
    }
}
