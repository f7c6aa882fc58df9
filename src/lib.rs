//! Serve markdown-authored agents over the Agent2Agent (A2A) protocol from Azure Functions, AWS Lambda or a plain process.
//!
//! A request goes one way: `edge` → `auth` → `binding` → `service` → `admission` → `runner` → `reply`, over `store`.
//! `docs/architecture.md` is the map; modules import only from lower ranks, and `tests/tidy.rs` proves it.

pub mod admission;
pub mod agents;
pub mod app;
pub mod auth;
pub mod binding;
pub mod cli;
pub mod clock;
pub mod config;
pub mod context;
pub mod edge;
pub mod functions_app;
pub mod host_traits;
pub mod http;
pub mod protocol;
pub mod reply;
pub mod runner;
pub mod service;
pub mod store;
pub mod telemetry;
