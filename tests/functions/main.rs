//! The program as the custom handler of a Functions app that its own command has set up, behind a stand-in for the host.
//!
//! Names that begin with `c` and three digits are cases that public bug reports taught.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test stops at the first surprise")]

mod app;
#[path = "../support/a2a_client.rs"]
#[allow(dead_code, reason = "each test binary uses a part of it")]
mod client;
mod dispatch;
mod identity;
#[path = "../support/issuer.rs"]
mod issuer;
mod readiness;
