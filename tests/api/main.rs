//! The server as its users meet it: real HTTP over a real socket, and the program as a process.
//!
//! Names that begin with `c` and three digits are cases that public bug reports of A2A servers taught; `golden` tables are
//! what the Python runtime answers, with a column for what we do otherwise on purpose (`docs/compatibility.md`).

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test stops at the first surprise")]

mod auth;
mod capacity;
mod cards;
#[path = "../support/a2a_client.rs"]
mod client;
mod contexts;
mod door;
mod entra;
mod envelope;
#[path = "../support/issuer.rs"]
mod issuer;
mod lambda;
mod messages;
mod process;
mod replay;
mod round_trips;
mod simple_profile;
mod support;
mod turns;
mod version;
