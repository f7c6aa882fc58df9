//! The Azure Tables back end: one table, a record per entity, a commit per entity group transaction.
//!
//! A thin client on the official pipeline; `docs/decisions/0003-table-client.md` says why. A record's expiry is a property
//! of its entity: expired entities count as absent and are written over, but nothing removes them.

mod batch;
mod client;
mod commit;
mod credential;
mod failure;
mod request;
mod rows;
mod settings;
mod transport;

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;

use super::{Cursor, Etag, Op, Page, PartitionKey, Record, RowKey, RowRange, Store, StoreError, bounds};
use crate::clock::{Clock, Random, Timestamp};
use crate::http::HttpClient;
use client::{Continuation, TableClient};
use commit::Commit;
pub use settings::{AzureTableSettings, SettingsError, TableName, TableTimeouts};

/// Records in an Azure table.
#[derive(Debug)]
pub struct AzureTableStore {
    client: TableClient,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    call_timeout: Duration,
    /// The last call failed, and the log says so.
    failing: AtomicBool,
}

impl AzureTableStore {
    /// A store in the table of `settings` whose records expire by `clock`. Nothing is sent before the first call, and the
    /// table is created by the first commit that misses it.
    pub fn new(
        settings: AzureTableSettings,
        http: &HttpClient,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Self {
        let call_timeout = settings.timeouts.call;
        Self { client: TableClient::new(settings, http), clock, random, call_timeout, failing: AtomicBool::new(false) }
    }

    async fn in_time<T>(&self, call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let late =
            |_| StoreError::Unavailable { reason: "the table service is too slow".to_owned(), retry_after: None };
        let result = tokio::time::timeout(self.call_timeout, call).await.map_err(late).flatten();
        self.tell(result.as_ref().err());
        result
    }

    /// Nothing is sent at start, so the log has to say when the table turns out to be out of reach: once, however many
    /// turns fail by it.
    fn tell(&self, failure: Option<&StoreError>) {
        match failure {
            None | Some(StoreError::Conflict { .. } | StoreError::OutOfBounds(_)) => {
                if self.failing.swap(false, Ordering::Relaxed) {
                    tracing::info!("the table store works again");
                }
            }
            // Throttling comes and goes.
            Some(StoreError::Unavailable { retry_after: Some(_), .. }) => {}
            Some(error) => {
                if !self.failing.swap(true, Ordering::Relaxed) {
                    let table = self.client.address();
                    tracing::error!(%error, table, "the table store does not work; turns fail until it does");
                }
            }
        }
    }
}

#[async_trait]
impl Store for AzureTableStore {
    async fn get(&self, partition: &PartitionKey, row: &RowKey) -> Result<Option<Record>, StoreError> {
        let entity = self.in_time(async { Ok(self.client.get(partition, row).await?) }).await?;
        let now = self.clock.now();
        Ok(entity.filter(|entity| entity.version.is_live(now)).map(|entity| entity.record))
    }

    async fn scan(
        &self,
        partition: &PartitionKey,
        range: &RowRange,
        limit: usize,
        cursor: Option<&Cursor>,
    ) -> Result<Page, StoreError> {
        bounds::check_scan(limit)?;
        let from = cursor.map(continuation).transpose()?;
        let filter = filter(partition, range, self.clock.now());
        let page = self.in_time(async { Ok(self.client.query(&filter, limit, from.as_ref()).await?) }).await?;
        let records = page.entities.into_iter().map(|entity| entity.record).collect();
        Ok(Page { records, next: page.next.as_ref().map(to_cursor) })
    }

    async fn commit(&self, partition: &PartitionKey, ops: &[Op]) -> Result<Vec<Option<Etag>>, StoreError> {
        bounds::check_commit(ops)?;
        let commit = Commit::new(&self.client, partition, ops, self.clock.now(), self.random.id())?;
        self.in_time(commit.run()).await
    }
}

/// The live entities of a range, in the query language of the service.
fn filter(partition: &PartitionKey, range: &RowRange, now: Timestamp) -> String {
    let mut filter = format!("PartitionKey eq '{}'", partition.as_str());
    for (comparison, bound) in [("ge", &range.from), ("lt", &range.to)] {
        if let Some(row) = bound {
            let _infallible = write!(filter, " and RowKey {comparison} '{}'", row.as_str());
        }
    }
    let _infallible = write!(filter, " and Expires gt {}L", rows::millis(now));
    filter
}

fn to_cursor(continuation: &Continuation) -> Cursor {
    let mut pairs = url::form_urlencoded::Serializer::new(String::new());
    Cursor(pairs.append_pair("partition", &continuation.partition).append_pair("row", &continuation.row).finish())
}

fn continuation(cursor: &Cursor) -> Result<Continuation, StoreError> {
    let pairs: Vec<_> = url::form_urlencoded::parse(cursor.0.as_bytes()).into_owned().collect();
    match <[(String, String); 2]>::try_from(pairs) {
        Ok([(first, partition), (second, row)]) if first == "partition" && second == "row" => {
            Ok(Continuation { partition, row })
        }
        _ => Err(StoreError::OutOfBounds("a cursor of another store")),
    }
}
