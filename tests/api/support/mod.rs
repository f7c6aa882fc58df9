//! What the tests stand on: an app over a real socket, runners that tests look into, and a process of the program.

use std::time::Duration;

mod app;
mod model;
mod process;
mod runner;

pub(crate) use app::{AGENT, App, KEY, MASTER, OTHER_KEY, Server, agent};
pub(crate) use model::Model;
pub(crate) use process::{Program, folder};
pub(crate) use runner::{Script, TestRunner, witnessed};

/// Far beyond anything a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
