//! The limits of the storage trait, checked alike by every back end before it does any work.

use std::collections::HashSet;

use super::{MAX_COMMIT_BYTES, MAX_COMMIT_OPS, MAX_SCAN_LIMIT, MAX_VALUE_BYTES, Op, StoreError};

/// Demands 1 to [`MAX_COMMIT_OPS`] steps about as many rows, with values inside their bounds.
pub(super) fn check_commit(ops: &[Op]) -> Result<(), StoreError> {
    if ops.is_empty() {
        return Err(StoreError::OutOfBounds("a commit without steps"));
    }
    if ops.len() > MAX_COMMIT_OPS {
        return Err(StoreError::OutOfBounds("a commit of more than 100 steps"));
    }
    let mut rows = HashSet::with_capacity(ops.len());
    let mut total = 0;
    for op in ops {
        if !rows.insert(op.row()) {
            return Err(StoreError::OutOfBounds("a row in two steps of one commit"));
        }
        let bytes = op.write().map_or(0, |write| write.value.len());
        if bytes > MAX_VALUE_BYTES {
            return Err(StoreError::OutOfBounds("a value of more than 512 KiB"));
        }
        total += bytes;
    }
    if total > MAX_COMMIT_BYTES {
        return Err(StoreError::OutOfBounds("a commit of more than 2 MiB of values"));
    }
    Ok(())
}

/// Demands a limit of 1 to [`MAX_SCAN_LIMIT`].
pub(super) fn check_scan(limit: usize) -> Result<(), StoreError> {
    if (1..=MAX_SCAN_LIMIT).contains(&limit) {
        Ok(())
    } else {
        Err(StoreError::OutOfBounds("a scan limit outside 1 to 1000"))
    }
}
