//! What an SQLite error means to a caller of the storage trait.

use rusqlite::ErrorCode;

use crate::store::StoreError;

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let unavailable = |reason: String| Self::Unavailable { reason, retry_after: None };
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                unavailable("another process kept the database locked".to_owned())
            }
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
                Self::Unusable(error.to_string())
            }
            Some(ErrorCode::NotADatabase) => Self::Unusable("the file is not a database".to_owned()),
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt(error.to_string()),
            _ => unavailable(error.to_string()),
        }
    }
}
