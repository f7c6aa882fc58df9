//! The open file: one connection that writes, a few that read, all used off the async threads.

use std::sync::{Arc, Mutex as BlockingMutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, MAIN_DB, OpenFlags};
use tokio::sync::{Mutex, OnceCell, Semaphore};
use tokio::task::spawn_blocking;

use super::{SqliteSettings, file, schema};
use crate::store::StoreError;

/// Connections that read at a time. More would not help: reads are short and mostly come from the page cache.
const READERS: usize = 2;
/// Prepared statements kept by each connection; there are fewer than this.
const STATEMENTS: usize = 16;
/// Pages that each connection keeps, in KiB. A turn touches a handful, and the system caches the file once for all of them.
const CACHE_KIB: i64 = 128;

/// Opens the file on first use.
#[derive(Debug)]
pub(super) struct Connections {
    settings: SqliteSettings,
    /// SQLite lets one connection write at a time; callers queue here instead of on threads.
    writer: OnceCell<Arc<Mutex<Connection>>>,
    readers: Semaphore,
    idle: Arc<BlockingMutex<Vec<Connection>>>,
}

impl Connections {
    pub(super) fn new(settings: SqliteSettings) -> Self {
        Self { settings, writer: OnceCell::new(), readers: Semaphore::new(READERS), idle: Arc::default() }
    }

    /// Opens the file now.
    pub(super) async fn open(&self) -> Result<(), StoreError> {
        self.writer().await.map(drop)
    }

    /// Runs `work` on the writing connection. Once begun it ends, even when the caller has lost interest.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let mut writer = Arc::clone(self.writer().await?).lock_owned().await;
        blocking(move || work(&mut writer)).await
    }

    /// Runs `work` on a connection that reads.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        // The writer lays a new file out, so it comes first.
        self.writer().await?;
        let _permit = self.readers.acquire().await.map_err(|_| unavailable("the store is shut"))?;
        let (settings, idle) = (self.settings.clone(), Arc::clone(&self.idle));
        blocking(move || {
            let pooled = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let connection = pooled.map_or_else(|| open_reader(&settings), Ok)?;
            let result = work(&connection);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            result
        })
        .await
    }

    async fn writer(&self) -> Result<&Arc<Mutex<Connection>>, StoreError> {
        let open = || async {
            let settings = self.settings.clone();
            let connection = blocking(move || open_writer(&settings)).await?;
            Ok(Arc::new(Mutex::new(connection)))
        };
        self.writer.get_or_try_init(open).await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    spawn_blocking(work).await.map_err(|_| unavailable("the database thread ended early"))?
}

fn unavailable(reason: &str) -> StoreError {
    StoreError::Unavailable { reason: reason.to_owned(), retry_after: None }
}

fn open_writer(settings: &SqliteSettings) -> Result<Connection, StoreError> {
    let open = || {
        file::create(&settings.path)?;
        let mut connection = open(settings)?;
        if connection.is_readonly(MAIN_DB)? {
            return Err(StoreError::Unusable("the file is read-only".to_owned()));
        }
        enter_wal(&connection, settings.busy_timeout)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        schema::prepare(&mut connection)?;
        Ok(connection)
    };
    open().map_err(|error| match error {
        StoreError::Unusable(reason) => StoreError::Unusable(format!("{}: {reason}", settings.path.display())),
        error => error,
    })
}

fn open_reader(settings: &SqliteSettings) -> Result<Connection, StoreError> {
    let connection = open(settings)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn open(settings: &SqliteSettings) -> Result<Connection, StoreError> {
    // An absolute path is always a path: `:memory:` and `file:` mean something else to SQLite.
    let path = std::path::absolute(&settings.path).map_err(|error| StoreError::Unusable(error.to_string()))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(settings.busy_timeout)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // A negative number is one of KiB, a positive one would be of pages.
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    Ok(connection)
}

/// SQLite does not wait for a lock when the journal mode changes, so this asks again while other processes start up. A file
/// that is not ours is left as it is.
fn enter_wal(connection: &Connection, patience: Duration) -> Result<(), StoreError> {
    const PAUSE: Duration = Duration::from_millis(5);
    let deadline = std::time::Instant::now() + patience;
    let enter = || {
        schema::recognise(connection)?;
        connection.pragma_update(None, "journal_mode", "WAL").map_err(StoreError::from)
    };
    loop {
        match enter() {
            Err(StoreError::Unavailable { .. }) if std::time::Instant::now() < deadline => std::thread::sleep(PAUSE),
            result => return result,
        }
    }
}
