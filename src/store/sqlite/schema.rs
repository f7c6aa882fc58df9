//! The layout of the file: `application_id` says that it is ours, `user_version` in which layout.

use rusqlite::{Connection, TransactionBehavior};

use crate::store::StoreError;

/// The layout that this release reads and writes.
const VERSION: i32 = 1;

/// "a2af": tells a file of ours from another program's, also for tools such as `file`.
const APPLICATION: i32 = 0x6132_6166;

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

/// What a file is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing is in it yet.
    Empty,
    /// It has the known layout.
    Ready,
}

/// Tells what the file is; fails for one that is not ours. Changes nothing.
pub(super) fn recognise(connection: &Connection) -> Result<State, StoreError> {
    // One view of the file: another process may be laying it out between two reads.
    state(&*connection.unchecked_transaction()?)
}

fn state(connection: &Connection) -> Result<State, StoreError> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    match (pragma("application_id")?, pragma("user_version")?) {
        (APPLICATION, VERSION) => Ok(State::Ready),
        (APPLICATION, other) => Err(StoreError::Unusable(format!(
            "the database has layout {other}, this release knows layout {VERSION}: use the release that wrote it"
        ))),
        (0, 0) if is_empty(connection)? => Ok(State::Empty),
        _ => Err(StoreError::Unusable("it is another program's database".to_owned())),
    }
}

/// Lays out a new file; demands the known layout of an old one.
pub(super) fn prepare(connection: &mut Connection) -> Result<(), StoreError> {
    if recognise(connection)? == State::Ready {
        return Ok(());
    }
    // Asked again under the write lock: another process may have laid it out meanwhile.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if state(&transaction)? == State::Ready {
        return Ok(());
    }
    transaction.execute_batch(LAYOUT)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}

fn is_empty(connection: &Connection) -> Result<bool, StoreError> {
    Ok(connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::clock::SystemClock;
    use crate::store::Store as _;
    use crate::store::sqlite::{SqliteSettings, SqliteStore};

    async fn prepare(path: &Path) -> Result<(), StoreError> {
        SqliteStore::new(SqliteSettings::new(path), Arc::new(SystemClock)).prepare().await
    }

    #[tokio::test]
    async fn a_file_that_is_not_ours_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.sqlite");
        let later = format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = 2");
        for (statements, reason) in [
            ("CREATE TABLE mine (x)", "another program's"),
            ("PRAGMA user_version = 1; CREATE TABLE records (x)", "another program's"),
            ("PRAGMA user_version = -1", "another program's"),
            ("PRAGMA application_id = 7", "another program's"),
            (later.as_str(), "the release that wrote it"),
        ] {
            Connection::open(&path).unwrap().execute_batch(statements).unwrap();
            let before = std::fs::read(&path).unwrap();
            let refusal = prepare(&path).await.unwrap_err().to_string();
            assert!(refusal.contains(reason) && refusal.contains("state.sqlite"), "{statements}: {refusal}");
            assert_eq!(std::fs::read(&path).unwrap(), before, "{statements}");
            std::fs::remove_file(&path).unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn all_who_open_a_new_file_at_once_find_the_layout() {
        for _ in 0..100 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("state.sqlite");
            let opened = (0..8).map(|_| {
                let path = path.clone();
                tokio::spawn(async move { prepare(&path).await })
            });
            for result in futures::future::join_all(opened).await {
                result.unwrap().unwrap();
            }
        }
    }

    #[tokio::test]
    async fn an_empty_file_and_one_of_ours_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.sqlite");
        std::fs::write(&path, "").unwrap();
        for _ in 0..2 {
            prepare(&path).await.unwrap();
        }
    }
}
