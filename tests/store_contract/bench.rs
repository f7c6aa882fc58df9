//! What a contract works with: a fresh store, a clock to move and short ways to write steps.

use std::sync::Arc;
use std::time::Duration;

use a2a_functions::clock::Clock as _;
use a2a_functions::store::{Etag, Op, Page, PartitionKey, Record, RowKey, RowRange, Store, StoreError, Write};
use bytes::Bytes;

use crate::backends::{Backend, Place};
use crate::clock::ManualClock;

/// One contract's own corner of a back end.
pub(crate) struct Bench {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) place: Place,
    pub(crate) partition: PartitionKey,
}

impl Bench {
    pub(crate) async fn new(backend: Backend) -> Self {
        let clock = Arc::new(ManualClock::new());
        let place = Place::fresh(backend, clock.clone()).await;
        Self { store: place.open(clock.clone()), clock, place, partition: partition("p") }
    }

    /// Another way to the same records, as a second process would have it.
    pub(crate) fn open_again(&self) -> Arc<dyn Store> {
        self.place.open(self.clock.clone())
    }

    pub(crate) async fn commit(&self, ops: &[Op]) -> Result<Vec<Option<Etag>>, StoreError> {
        self.store.commit(&self.partition, ops).await
    }

    /// Commits one step that must succeed and leave a row behind.
    pub(crate) async fn put(&self, op: Op) -> Etag {
        let etags = self.commit(&[op]).await.expect("the step is allowed");
        etags.into_iter().next().flatten().expect("the row has a version")
    }

    /// Writes over a probe row until the back end's clock has moved past the tick that made `etag`: some back ends repeat a
    /// tag within a tick (case C049), which a contract about stale tags is not about.
    pub(crate) async fn next_tick(&self, etag: &Etag) {
        let probe = partition("tick");
        loop {
            let etags = self.store.commit(&probe, &[upsert("t", "")]).await.expect("the store answers");
            if etags[0].as_ref() != Some(etag) {
                return;
            }
        }
    }

    /// Leaves the row `key` with the value `current`, and answers a version of it that is no longer.
    pub(crate) async fn stale_etag(&self, key: &str) -> Etag {
        let stale = self.put(upsert(key, "stale")).await;
        self.next_tick(&stale).await;
        self.put(upsert(key, "current")).await;
        stale
    }

    pub(crate) async fn get(&self, key: &str) -> Option<Record> {
        self.store.get(&self.partition, &row(key)).await.expect("the store answers")
    }

    /// The value of a row as text.
    pub(crate) async fn text(&self, key: &str) -> Option<String> {
        self.get(key).await.map(|record| String::from_utf8(record.value.to_vec()).expect("tests store text"))
    }

    pub(crate) async fn scan(&self, range: &RowRange, limit: usize) -> Page {
        self.store.scan(&self.partition, range, limit, None).await.expect("the store answers")
    }

    /// All rows of a range, page by page.
    pub(crate) async fn rows(&self, range: &RowRange, limit: usize) -> Vec<String> {
        let mut page = self.scan(range, limit).await;
        let mut rows = Vec::new();
        loop {
            assert!(page.records.len() <= limit, "a page keeps to its limit");
            rows.extend(page.records.iter().map(|record| record.row.as_str().to_owned()));
            let Some(next) = page.next else { return rows };
            page = self.store.scan(&self.partition, range, limit, Some(&next)).await.expect("the store answers");
        }
    }

    /// A record that lives for `life` from now on.
    pub(crate) fn mortal(&self, key: &str, value: &str, life: Duration) -> Write {
        Write { expires: Some(self.clock.now().after(life)), ..write(key, value) }
    }
}

pub(crate) fn partition(key: &str) -> PartitionKey {
    PartitionKey::new(key).expect("tests use legal keys")
}

pub(crate) fn row(key: &str) -> RowKey {
    RowKey::new(key).expect("tests use legal keys")
}

pub(crate) fn write(key: &str, value: &str) -> Write {
    Write { row: row(key), value: Bytes::copy_from_slice(value.as_bytes()), expires: None }
}

pub(crate) fn insert(key: &str, value: &str) -> Op {
    Op::Insert(write(key, value))
}

pub(crate) fn upsert(key: &str, value: &str) -> Op {
    Op::Upsert(write(key, value))
}

pub(crate) fn replace(key: &str, value: &str, etag: &Etag) -> Op {
    Op::Replace { write: write(key, value), etag: etag.clone() }
}

pub(crate) fn delete(key: &str, etag: &Etag) -> Op {
    Op::Delete { row: row(key), etag: etag.clone() }
}

pub(crate) fn check(key: &str, etag: &Etag) -> Op {
    Op::Check { row: row(key), etag: etag.clone() }
}

/// Rows from `from` to before `to`; an empty text leaves a side open.
pub(crate) fn range(from: &str, to: &str) -> RowRange {
    let side = |key: &str| (!key.is_empty()).then(|| row(key));
    RowRange { from: side(from), to: side(to) }
}

/// Demands that a commit lost because of step `index`.
#[track_caller]
pub(crate) fn assert_conflict<T: std::fmt::Debug>(result: Result<T, StoreError>, index: usize) {
    match result {
        Err(StoreError::Conflict { index: found }) => assert_eq!(found, index, "the conflict names its step"),
        other => panic!("expected a conflict of step {index}, got {other:?}"),
    }
}

#[track_caller]
pub(crate) fn assert_out_of_bounds<T: std::fmt::Debug>(result: &Result<T, StoreError>) {
    assert!(matches!(result, Err(StoreError::OutOfBounds(_))), "expected an error about bounds, got {result:?}");
}
