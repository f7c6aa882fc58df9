//! The embedded back end: one SQLite file, shared by any number of processes on one machine.
//!
//! Write-ahead logging lets readers go on while a writer commits; `synchronous=FULL` makes an acknowledged commit
//! survive a power cut. The file has to be on a local disk: write-ahead logging needs shared memory between processes.

mod connections;
mod failure;
mod file;
mod schema;
mod statements;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{Cursor, Etag, Op, Page, PartitionKey, Record, RowKey, RowRange, Store, StoreError, bounds};
use crate::clock::Clock;
use connections::Connections;

/// Where the file is and how patient its users are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteSettings {
    /// The database file; it and its directory are created on first use.
    pub path: PathBuf,
    /// How long a call waits for another process to end its commit before it fails as unavailable.
    pub busy_timeout: Duration,
}

impl SqliteSettings {
    /// The file at `path`, with five seconds of patience.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), busy_timeout: Duration::from_secs(5) }
    }
}

/// Records in a SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    clock: Arc<dyn Clock>,
    connections: Connections,
}

impl SqliteStore {
    /// A store in the file of `settings` whose records expire by `clock`. Nothing is opened before the first call or
    /// [`Store::prepare`].
    pub fn new(settings: SqliteSettings, clock: Arc<dyn Clock>) -> Self {
        Self { clock, connections: Connections::new(settings) }
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn prepare(&self) -> Result<(), StoreError> {
        self.connections.open().await
    }

    async fn get(&self, partition: &PartitionKey, row: &RowKey) -> Result<Option<Record>, StoreError> {
        let (partition, row, now) = (partition.clone(), row.clone(), self.clock.now());
        self.connections.read(move |connection| statements::get(connection, &partition, &row, now)).await
    }

    async fn scan(
        &self,
        partition: &PartitionKey,
        range: &RowRange,
        limit: usize,
        cursor: Option<&Cursor>,
    ) -> Result<Page, StoreError> {
        bounds::check_scan(limit)?;
        let span = statements::Span::new(range, cursor)?;
        let (partition, now) = (partition.clone(), self.clock.now());
        self.connections.read(move |connection| statements::scan(connection, &partition, &span, limit, now)).await
    }

    async fn commit(&self, partition: &PartitionKey, ops: &[Op]) -> Result<Vec<Option<Etag>>, StoreError> {
        bounds::check_commit(ops)?;
        let (partition, ops, clock) = (partition.clone(), ops.to_vec(), Arc::clone(&self.clock));
        self.connections.write(move |connection| statements::commit(connection, &partition, &ops, clock.as_ref())).await
    }
}
