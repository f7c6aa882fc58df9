//! The SQL of the storage trait, on a connection that is at hand.

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use crate::clock::{Clock, Timestamp};
use crate::store::{Cursor, Etag, Op, PAGE_BYTES, Page, PartitionKey, Record, RowKey, RowRange, StoreError, Write};

/// Expired rows that a commit removes for each of its steps. More than one, so that the dead can never outgrow the
/// living: every step adds at most one row.
const PURGED_PER_OP: usize = 2;

/// The part of a partition that a scan still has to read. Its ends are texts, not keys: `!` sorts before and `~` after
/// every character of a key.
#[derive(Debug)]
pub(super) struct Span {
    from: String,
    to: String,
}

impl Span {
    /// `range`, less what comes before `cursor`.
    pub(super) fn new(range: &RowRange, cursor: Option<&Cursor>) -> Result<Self, StoreError> {
        let after = cursor.map(|cursor| RowKey::new(cursor.0.as_str())).transpose();
        let after = after.map_err(|_| StoreError::OutOfBounds("a cursor of another store"))?;
        let from = range.from.as_ref().map_or(String::new(), |from| from.as_str().to_owned());
        let after = after.map_or(String::new(), |after| format!("{}!", after.as_str()));
        let to = range.to.as_ref().map_or("~", RowKey::as_str).to_owned();
        Ok(Self { from: from.max(after), to })
    }
}

pub(super) fn get(
    connection: &Connection,
    partition: &PartitionKey,
    row: &RowKey,
    now: Timestamp,
) -> Result<Option<Record>, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT id, value FROM records
         WHERE partition = ?1 AND row = ?2 AND (expires IS NULL OR expires > ?3)",
    )?;
    let found = select.query_row(params![partition.as_str(), row.as_str(), millis(now)], |columns| {
        Ok(Record { row: row.clone(), etag: etag(columns.get(0)?), value: Bytes::from(columns.get::<_, Vec<u8>>(1)?) })
    });
    Ok(found.optional()?)
}

pub(super) fn scan(
    connection: &Connection,
    partition: &PartitionKey,
    span: &Span,
    limit: usize,
    now: Timestamp,
) -> Result<Page, StoreError> {
    let mut select = connection.prepare_cached(
        "SELECT row, id, value FROM records
         WHERE partition = ?1 AND row >= ?2 AND row < ?3 AND (expires IS NULL OR expires > ?4)
         ORDER BY row",
    )?;
    let mut rows = select.query(params![partition.as_str(), span.from, span.to, millis(now)])?;
    let mut records: Vec<Record> = Vec::new();
    let mut bytes = 0;
    while let Some(columns) = rows.next()? {
        if records.len() == limit || bytes >= PAGE_BYTES {
            let next = records.last().map(|last| Cursor(last.row.as_str().to_owned()));
            return Ok(Page { records, next });
        }
        let row = RowKey::new(columns.get::<_, String>(0)?);
        let row = row.map_err(|error| StoreError::Corrupt(format!("a row's name: {error}")))?;
        let value = Bytes::from(columns.get::<_, Vec<u8>>(2)?);
        bytes += value.len();
        records.push(Record { row, etag: etag(columns.get(1)?), value });
    }
    Ok(Page { records, next: None })
}

pub(super) fn commit(
    connection: &mut Connection,
    partition: &PartitionKey,
    ops: &[Op],
    clock: &dyn Clock,
) -> Result<Vec<Option<Etag>>, StoreError> {
    // Takes the write lock at once: a lock taken later could find that what was read has changed.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Told after the wait for the lock, or a record could expire between the clock and the commit.
    let now = millis(clock.now());
    let steps = Steps { transaction: &transaction, partition, now };
    let mut etags = Vec::with_capacity(ops.len());
    for (index, op) in ops.iter().enumerate() {
        match steps.apply(op)? {
            Outcome::Version(id) => etags.push(Some(etag(id))),
            Outcome::Removed => etags.push(None),
            Outcome::Refused => return Err(StoreError::Conflict { index }),
        }
    }
    steps.purge(ops.len() * PURGED_PER_OP)?;
    transaction.commit()?;
    Ok(etags)
}

struct Steps<'a> {
    transaction: &'a Transaction<'a>,
    partition: &'a PartitionKey,
    now: i64,
}

enum Outcome {
    Version(i64),
    Removed,
    Refused,
}

impl Steps<'_> {
    fn apply(&self, op: &Op) -> Result<Outcome, StoreError> {
        match op {
            Op::Insert(write) => {
                self.remove_expired(&write.row)?;
                self.insert(write)
            }
            Op::Upsert(write) => {
                self.remove_any(&write.row)?;
                self.insert(write)
            }
            Op::Replace { write, etag } => match self.remove(&write.row, etag)? {
                Outcome::Removed => self.insert(write),
                refused => Ok(refused),
            },
            Op::Delete { row, etag } => self.remove(row, etag),
            Op::Check { row, etag } => self.check(row, etag),
        }
    }

    fn insert(&self, write: &Write) -> Result<Outcome, StoreError> {
        let mut insert = self.transaction.prepare_cached(
            "INSERT INTO records (partition, row, expires, value) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (partition, row) DO NOTHING",
        )?;
        let expires = write.expires.map(millis);
        match insert.execute(params![self.partition.as_str(), write.row.as_str(), expires, &write.value[..]])? {
            0 => Ok(Outcome::Refused),
            _ => Ok(Outcome::Version(self.transaction.last_insert_rowid())),
        }
    }

    fn remove(&self, row: &RowKey, etag: &Etag) -> Result<Outcome, StoreError> {
        let Some(id) = version(etag) else { return Ok(Outcome::Refused) };
        let mut delete = self.transaction.prepare_cached(
            "DELETE FROM records
             WHERE partition = ?1 AND row = ?2 AND id = ?3 AND (expires IS NULL OR expires > ?4)",
        )?;
        match delete.execute(params![self.partition.as_str(), row.as_str(), id, self.now])? {
            0 => Ok(Outcome::Refused),
            _ => Ok(Outcome::Removed),
        }
    }

    fn remove_expired(&self, row: &RowKey) -> Result<(), StoreError> {
        let mut delete = self
            .transaction
            .prepare_cached("DELETE FROM records WHERE partition = ?1 AND row = ?2 AND expires <= ?3")?;
        delete.execute(params![self.partition.as_str(), row.as_str(), self.now])?;
        Ok(())
    }

    fn remove_any(&self, row: &RowKey) -> Result<(), StoreError> {
        let mut delete = self.transaction.prepare_cached("DELETE FROM records WHERE partition = ?1 AND row = ?2")?;
        delete.execute(params![self.partition.as_str(), row.as_str()])?;
        Ok(())
    }

    fn check(&self, row: &RowKey, etag: &Etag) -> Result<Outcome, StoreError> {
        let Some(id) = version(etag) else { return Ok(Outcome::Refused) };
        let mut select = self.transaction.prepare_cached(
            "SELECT 1 FROM records
             WHERE partition = ?1 AND row = ?2 AND id = ?3 AND (expires IS NULL OR expires > ?4)",
        )?;
        let there = select.exists(params![self.partition.as_str(), row.as_str(), id, self.now])?;
        Ok(if there { Outcome::Version(id) } else { Outcome::Refused })
    }

    /// Removes up to `limit` expired rows of whatever partition, under the lock and the disk write that the commit pays
    /// for anyway.
    fn purge(&self, limit: usize) -> Result<(), StoreError> {
        let mut delete = self
            .transaction
            .prepare_cached("DELETE FROM records WHERE id IN (SELECT id FROM records WHERE expires <= ?1 LIMIT ?2)")?;
        delete.execute(params![self.now, i64::try_from(limit).unwrap_or(i64::MAX)])?;
        Ok(())
    }
}

fn etag(id: i64) -> Etag {
    Etag(id.to_string())
}

/// The row that a tag stands for; `None` for a tag that is not ours.
fn version(etag: &Etag) -> Option<i64> {
    etag.0.parse().ok()
}

/// SQLite's integers are signed; a time beyond them is never reached.
fn millis(time: Timestamp) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
