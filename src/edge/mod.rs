//! The door: hosts, names, bounds and time; everything below sees one kind of request.

pub mod authority;
pub mod server;
