//! The checklist of the host's behaviour, row by row, against a handler that echoes or misbehaves.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its support code too")]

mod auth;
mod command;
mod envelope;
mod envelope_reply;
mod forward;
mod limits;
mod platform;
mod process;
mod proxy;
mod routing;
mod scale;
mod streaming;
mod support;
mod triggers;
