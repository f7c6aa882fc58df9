//! The storage waist: one small trait under all durable state; back ends store bytes and compare versions, nothing more.

#[cfg(feature = "azure")]
pub mod azure_table;
mod bounds;
pub mod memory;
pub mod observed;
#[cfg(feature = "sqlite")]
pub mod sqlite;

use async_trait::async_trait;
use bytes::Bytes;

use crate::clock::Timestamp;

/// Largest value of a record, in bytes.
pub const MAX_VALUE_BYTES: usize = 512 * 1024;
/// Most operations in one commit.
pub const MAX_COMMIT_OPS: usize = 100;
/// Most bytes of values in one commit: what the tightest back end takes (4 MiB of base64 and framing in Azure Tables).
pub const MAX_COMMIT_BYTES: usize = 2 * 1024 * 1024;
/// Most records that one scan returns.
pub const MAX_SCAN_LIMIT: usize = 1000;

/// A page ends early once its values reach this many bytes; the cursor goes on from there.
pub const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// What a scan or a commit works in: the unit of atomicity.
///
/// Only characters `[A-Za-z0-9_-]`, 1 to 256 of them: callers hash or encode what a client controls before it becomes a
/// key, so that every back end can use keys as they are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionKey(String);

/// A record's name inside its partition; records are ordered by the bytes of this key. Same alphabet and bounds as
/// [`PartitionKey`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey(String);

/// The reason a key was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a storage key holds 1 to 256 characters of [A-Za-z0-9_-]; this one has {length} characters or another character"
)]
pub struct InvalidKey {
    length: usize,
}

fn check_key(key: &str) -> Result<(), InvalidKey> {
    let legal = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if legal && (1..=256).contains(&key.len()) { Ok(()) } else { Err(InvalidKey { length: key.len() }) }
}

impl PartitionKey {
    /// Takes `key` as it is when it is legal.
    pub fn new(key: impl Into<String>) -> Result<Self, InvalidKey> {
        let key = key.into();
        check_key(&key)?;
        Ok(Self(key))
    }

    /// The key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl RowKey {
    /// Takes `key` as it is when it is legal.
    pub fn new(key: impl Into<String>) -> Result<Self, InvalidKey> {
        let key = key.into();
        check_key(&key)?;
        Ok(Self(key))
    }

    /// The key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A version of a record, opaque to all but the back end that made it. Never the only proof of ownership: some back ends
/// repeat a tag when two writes fall into one tick of their clock.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Etag(pub String);

/// One stored record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its name inside the partition.
    pub row: RowKey,
    /// Its value, at most [`MAX_VALUE_BYTES`].
    pub value: Bytes,
    /// Its version at the time of the read.
    pub etag: Etag,
}

/// Rows from `from` (inclusive) to `to` (exclusive) in key order; `None` leaves a side open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowRange {
    /// First key of the range.
    pub from: Option<RowKey>,
    /// First key after the range.
    pub to: Option<RowKey>,
}

/// Where a scan goes on, opaque to callers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(pub String);

/// What a scan found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Records in key order, expired ones left out.
    pub records: Vec<Record>,
    /// Present when there may be more.
    pub next: Option<Cursor>,
}

/// One step of a commit. A partition's row may stand in at most one step of the same commit.
///
/// An expired record is absent to every step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Writes a record that must be absent.
    Insert(Write),
    /// Writes over a record whose version must still be `etag`.
    Replace {
        /// What to write.
        write: Write,
        /// The version that was read.
        etag: Etag,
    },
    /// Writes a record whatever is there.
    Upsert(Write),
    /// Removes a record whose version must still be `etag`.
    Delete {
        /// The record to remove.
        row: RowKey,
        /// The version that was read.
        etag: Etag,
    },
    /// Demands that a record's version still is `etag`, and changes nothing that a reader sees. The record's version may
    /// change.
    Check {
        /// The record to look at.
        row: RowKey,
        /// The version that was read.
        etag: Etag,
    },
}

impl Op {
    /// The row that this step is about.
    pub fn row(&self) -> &RowKey {
        match self {
            Self::Insert(write) | Self::Replace { write, .. } | Self::Upsert(write) => &write.row,
            Self::Delete { row, .. } | Self::Check { row, .. } => row,
        }
    }

    /// What this step writes, if it writes.
    pub fn write(&self) -> Option<&Write> {
        match self {
            Self::Insert(write) | Self::Replace { write, .. } | Self::Upsert(write) => Some(write),
            Self::Delete { .. } | Self::Check { .. } => None,
        }
    }
}

/// A record to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Its name inside the partition.
    pub row: RowKey,
    /// Its value, at most [`MAX_VALUE_BYTES`].
    pub value: Bytes,
    /// From this moment on the record counts as absent. `None` keeps it.
    pub expires: Option<Timestamp>,
}

/// How a storage call can fail, told by what the caller can do about it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A step's condition did not hold, and nothing was written: someone else was faster.
    #[error("step {index} of the commit found another version of its row")]
    Conflict {
        /// Index into the commit's steps of one whose condition did not hold.
        index: usize,
    },
    /// The back end did not answer, or asked to be left alone for a while. A commit may or may not have happened.
    #[error("the store is unavailable: {reason}")]
    Unavailable {
        /// What was seen, without secrets.
        reason: String,
        /// How long the back end asked callers to wait.
        retry_after: Option<std::time::Duration>,
    },
    /// The call breaks a limit of the trait and was not tried: a value too large, too many steps, a row twice, a cursor
    /// that no scan of this store gave out.
    #[error("the storage call is out of bounds: {0}")]
    OutOfBounds(&'static str),
    /// The back end refused our credentials.
    #[error("the store refused access: {0}")]
    Denied(String),
    /// What is in the store's place is no store of ours: not a file, another program's, a later release's.
    #[error("the store cannot be used: {0}")]
    Unusable(String),
    /// What is stored cannot be understood.
    #[error("a stored record is damaged: {0}")]
    Corrupt(String),
}

/// A store of records. Implementations keep three promises: a commit is atomic within its partition, a read sees every
/// commit that was acknowledged before it began, and a commit that answered `Conflict` wrote nothing.
#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Finds out before the first call whether the store can work, as far as that needs no network.
    async fn prepare(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Reads one record; `None` when it is absent or expired.
    async fn get(&self, partition: &PartitionKey, row: &RowKey) -> Result<Option<Record>, StoreError>;

    /// Reads up to `limit` records (1 to [`MAX_SCAN_LIMIT`]) of a range in key order, from `cursor` on. May return fewer,
    /// or none, together with a cursor.
    async fn scan(
        &self,
        partition: &PartitionKey,
        range: &RowRange,
        limit: usize,
        cursor: Option<&Cursor>,
    ) -> Result<Page, StoreError>;

    /// Applies all of `ops` (1 to [`MAX_COMMIT_OPS`], values of at most [`MAX_COMMIT_BYTES`] together), or none. Answers
    /// the version of each step's row after the commit, `None` for deletions, in the order of the steps.
    ///
    /// Dropping the future leaves open whether the commit happens, but never half of it.
    async fn commit(&self, partition: &PartitionKey, ops: &[Op]) -> Result<Vec<Option<Etag>>, StoreError>;
}
