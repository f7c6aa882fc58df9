//! The checklist of the host's behaviour, row by row, against a handler that echoes or misbehaves.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its support code too")]

mod auth;
mod process;
mod proxy;
mod scale;
mod streaming;
mod support;
