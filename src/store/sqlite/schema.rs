//! The layout of the file, versioned by `user_version`.

use rusqlite::{Connection, TransactionBehavior};

use crate::store::StoreError;

/// The layout that this release reads and writes.
const VERSION: u32 = 1;

/// A record's version is its `id`: `AUTOINCREMENT` never gives a number out twice, and every write makes a new row.
/// Expired rows are found through an index of their own.
const LAYOUT: &str = "
    CREATE TABLE records (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        partition TEXT NOT NULL,
        row TEXT NOT NULL,
        expires INTEGER,
        value BLOB NOT NULL,
        UNIQUE (partition, row)
    ) STRICT;
    CREATE INDEX records_by_expiry ON records (expires) WHERE expires IS NOT NULL;
";

/// Lays out a new file; demands the known layout of an old one.
pub(super) fn prepare(connection: &mut Connection) -> Result<(), StoreError> {
    if read_version(connection)? == VERSION {
        return Ok(());
    }
    // Asked again under the write lock: another process may have laid it out meanwhile.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match read_version(&transaction)? {
        VERSION => return Ok(()),
        0 => transaction.execute_batch(LAYOUT)?,
        other => {
            return Err(StoreError::Corrupt(format!(
                "the database has layout {other}, this release knows layout {VERSION}: use the release that wrote it"
            )));
        }
    }
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}

fn read_version(connection: &Connection) -> Result<u32, StoreError> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}
