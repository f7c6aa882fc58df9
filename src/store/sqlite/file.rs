//! The database file before SQLite sees it: made for this user's eyes only, and known to be a file.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{Error, ErrorKind};
use std::path::Path;

use crate::store::StoreError;

/// Makes the file and its directory where they are missing; what is there keeps its mode. SQLite gives the files that it
/// puts next to a database the mode of the database.
pub(super) fn create(path: &Path) -> Result<(), StoreError> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => Err(StoreError::Unusable("it is not a file".to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => create_missing(path).map_err(|error| unusable(&error)),
        Err(error) => Err(unusable(&error)),
    }
}

fn create_missing(path: &Path) -> Result<(), Error> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(parent)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        result => result.map(drop),
    }
}

fn unusable(error: &Error) -> StoreError {
    StoreError::Unusable(error.to_string())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;

    use super::*;
    use crate::clock::SystemClock;
    use crate::store::sqlite::{SqliteSettings, SqliteStore};
    use crate::store::{Op, PartitionKey, RowKey, Store as _, Write};

    /// The modes of the file and of those next to it, after a commit.
    async fn modes(path: &Path) -> Vec<u32> {
        let store = SqliteStore::new(SqliteSettings::new(path), Arc::new(SystemClock));
        let write = Write { row: RowKey::new("r").unwrap(), value: bytes::Bytes::new(), expires: None };
        store.commit(&PartitionKey::new("p").unwrap(), &[Op::Upsert(write)]).await.unwrap();
        let mode = |end| fs::metadata(format!("{}{end}", path.display())).unwrap().permissions().mode() & 0o777;
        ["", "-wal", "-shm"].map(mode).to_vec()
    }

    #[tokio::test]
    async fn what_we_create_is_for_this_user_alone_and_what_was_there_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        assert_eq!(modes(&folder.path().join("new.sqlite")).await, [0o600; 3]);
        let old = folder.path().join("old.sqlite");
        fs::write(&old, "").unwrap();
        fs::set_permissions(&old, Permissions::from_mode(0o640)).unwrap();
        assert_eq!(modes(&old).await, [0o640; 3]);
        assert_eq!(modes(&folder.path().join("made/state.sqlite")).await, [0o600; 3]);
        let made = fs::metadata(folder.path().join("made")).unwrap().permissions().mode() & 0o777;
        assert_eq!(made, 0o700);
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o755);
    }
}
