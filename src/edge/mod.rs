//! The door: hosts, names, bounds and time; everything below sees one kind of request.

pub mod authority;
#[cfg(feature = "lambda")]
pub mod lambda;
mod log;
mod routes;
pub mod server;

pub use routes::{Door, Site};
