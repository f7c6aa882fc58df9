//! One commit: the steps as requests, and the judgement on what a refusal or a lost answer means.

use std::time::Duration;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::client::TableClient;
use super::failure::{Failure, Refusal};
use super::request::EntityRequest;
use super::rows::{self, Entity, Version};
use crate::clock::Timestamp;
use crate::store::{Etag, Op, PartitionKey, RowKey, StoreError};

/// Times that a commit is sent when its answers get lost.
const ATTEMPTS: u32 = 3;
/// How long the first repetition waits; each further one waits longer by as much.
const PAUSE: Duration = Duration::from_millis(50);
/// Rows that are read at a time when a commit needs to look.
const PARALLEL_READS: usize = 8;

/// A commit on its way.
pub(super) struct Commit<'a> {
    client: &'a TableClient,
    partition: &'a PartitionKey,
    ops: &'a [Op],
    now: Timestamp,
    /// Written into every row that the commit touches, so that a commit whose answer was lost can be recognised.
    marker: String,
    requests: Vec<EntityRequest>,
    expires: Vec<i64>,
    /// An attempt may have happened without our learning of it.
    in_doubt: bool,
    /// Inserts have been turned into replacements of the expired rows in their way.
    looked_for_expired: bool,
}

impl<'a> Commit<'a> {
    /// Plans the requests. A step on a record that has expired since it was read, or with a tag that is not ours, is a
    /// conflict at once.
    pub(super) fn new(
        client: &'a TableClient,
        partition: &'a PartitionKey,
        ops: &'a [Op],
        now: Timestamp,
        marker: String,
    ) -> Result<Self, StoreError> {
        let mut requests = Vec::with_capacity(ops.len());
        let mut expires = Vec::with_capacity(ops.len());
        for (index, op) in ops.iter().enumerate() {
            let version = match op {
                Op::Insert(_) | Op::Upsert(_) => None,
                Op::Replace { etag, .. } | Op::Delete { etag, .. } | Op::Check { etag, .. } => {
                    let live = Version::parse(etag).filter(|version| version.is_live(now));
                    Some(live.ok_or(StoreError::Conflict { index })?)
                }
            };
            expires.push(match (op.write(), &version) {
                (Some(write), _) => rows::expiry(write),
                (None, version) => version.as_ref().map_or(0, Version::expires),
            });
            requests.push(match (op, &version) {
                (Op::Insert(write), _) => EntityRequest::insert(partition, write, &marker),
                (Op::Upsert(write) | Op::Replace { write, .. }, version) => {
                    EntityRequest::put(partition, write, version.as_ref(), &marker)
                }
                (Op::Delete { row, .. }, Some(version)) => EntityRequest::delete(partition, row, version),
                (Op::Check { row, .. }, Some(version)) => EntityRequest::check(partition, row, version, &marker),
                (Op::Delete { .. } | Op::Check { .. }, None) => return Err(StoreError::Conflict { index }),
            });
        }
        Ok(Self { client, partition, ops, now, marker, requests, expires, in_doubt: false, looked_for_expired: false })
    }

    /// Sends the commit until its outcome is known: one request in the normal case.
    pub(super) async fn run(mut self) -> Result<Vec<Option<Etag>>, StoreError> {
        let mut attempt = 1;
        let mut table_created = false;
        loop {
            match self.client.change(&self.requests).await {
                Ok(tags) => return self.etags(tags),
                Err(Failure::Refused(refusal)) if refusal.is_missing_table() && !table_created => {
                    self.client.create_table().await?;
                    table_created = true;
                }
                Err(Failure::Refused(refusal)) => {
                    if let Some(etags) = self.judge(refusal).await? {
                        return Ok(etags);
                    }
                }
                Err(failure @ (Failure::Lost(_) | Failure::Unsent(_))) if attempt < ATTEMPTS => {
                    self.in_doubt |= matches!(failure, Failure::Lost(_));
                    tokio::time::sleep(PAUSE * attempt).await;
                    attempt += 1;
                }
                Err(failure) => return Err(failure.into()),
            }
        }
    }

    /// What a refusal means: our own earlier attempt (its versions), an expired row in the way (`None`: send again) or a
    /// conflict.
    async fn judge(&mut self, refusal: Refusal) -> Result<Option<Vec<Option<Etag>>>, StoreError> {
        let index = refusal.index;
        let Some(request) = self.requests.get(index) else { return Err(Failure::Refused(refusal).into()) };
        if !refusal.is_conflict(request.if_match.is_some()) {
            return Err(Failure::Refused(refusal).into());
        }
        if self.in_doubt {
            return self.own_traces().await.map(Some);
        }
        if matches!(self.ops[index], Op::Insert(_)) && !self.looked_for_expired {
            self.looked_for_expired = true;
            if self.replace_expired(index).await? {
                return Ok(None);
            }
        }
        Err(StoreError::Conflict { index })
    }

    /// Turns every insert whose row is there but expired into a replacement of exactly that row. Answers whether the
    /// insert at `index` was one of them.
    async fn replace_expired(&mut self, index: usize) -> Result<bool, StoreError> {
        let inserts = self.ops.iter().enumerate().filter(|(_, op)| matches!(op, Op::Insert(_)));
        let found = self.read_all(inserts.map(|(index, op)| (index, op.row().clone())).collect()).await?;
        let mut replaced = false;
        for (at, entity) in found {
            let Some(entity) = entity.filter(|entity| !entity.version.is_live(self.now)) else { continue };
            if let Some(write) = self.ops[at].write() {
                self.requests[at] = EntityRequest::put(self.partition, write, Some(&entity.version), &self.marker);
                replaced |= at == index;
            }
        }
        Ok(replaced)
    }

    /// After a lost answer and a refusal: the rows tell whether it was our own earlier attempt that is now in the way.
    async fn own_traces(&self) -> Result<Vec<Option<Etag>>, StoreError> {
        let left = self.ops.iter().enumerate().filter(|(_, op)| !matches!(op, Op::Delete { .. }));
        let found = self.read_all(left.map(|(index, op)| (index, op.row().clone())).collect()).await?;
        let is_ours = |entity: &Entity| entity.marker == self.marker;
        if !found.iter().any(|(_, entity)| entity.as_ref().is_some_and(is_ours)) {
            // Either it never happened, or someone has already written over all of it.
            return Err(StoreError::Unavailable {
                reason: "the answer to a commit was lost, and its rows have changed since".to_owned(),
                retry_after: None,
            });
        }
        let mut etags = vec![None; self.ops.len()];
        for (index, entity) in found {
            // A row that someone has written over already gets a version that no row has.
            let superseded = || Version::new(self.expires[index], "W/\"superseded\"".to_owned()).etag();
            etags[index] = Some(entity.filter(is_ours).map_or_else(superseded, |entity| entity.record.etag));
        }
        Ok(etags)
    }

    async fn read_all(&self, wanted: Vec<(usize, RowKey)>) -> Result<Vec<(usize, Option<Entity>)>, StoreError> {
        let reads = wanted.into_iter().map(|(index, row)| async move {
            let entity = self.client.get(self.partition, &row).await?;
            Ok::<_, StoreError>((index, entity))
        });
        stream::iter(reads).buffer_unordered(PARALLEL_READS).try_collect().await
    }

    fn etags(&self, tags: Vec<Option<String>>) -> Result<Vec<Option<Etag>>, StoreError> {
        let with_expiry =
            tags.into_iter().zip(&self.expires).zip(self.ops).map(|((tag, expires), op)| match (op, tag) {
                (Op::Delete { .. }, _) => Ok(None),
                (_, Some(tag)) => Ok(Some(Version::new(*expires, tag).etag())),
                (_, None) => Err(StoreError::Corrupt("the table service did not tell the version it wrote".to_owned())),
            });
        with_expiry.collect()
    }
}
