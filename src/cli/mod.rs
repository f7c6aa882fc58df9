//! The command line: one file per command, each with its options and a `run`.

mod agents;
mod check;
mod functions;
mod output;
mod ready;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use output::Output;

use crate::config::Environment;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// All is well.
    Success,
    /// The command did its work and found problems.
    Problems,
    /// The command could not do its work as asked.
    Usage,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(match status {
            ExitStatus::Success => 0,
            ExitStatus::Problems => 1,
            ExitStatus::Usage => 2,
        })
    }
}

/// Serve markdown-authored agents over the Agent2Agent (A2A) protocol.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "\
First steps:
  a2a-functions serve examples/incident-triage   serve an example and print a request to try
  a2a-functions check my-app                     see what is wrong with a folder of your own
  a2a-functions functions init my-app            make it an Azure Functions app"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the agents of an app folder.
    Serve(serve::ServeArgs),
    /// Check an app folder, and say what to change.
    Check(check::CheckArgs),
    /// List the agents of an app folder, and where each is reached.
    Agents(agents::AgentsArgs),
    /// Make an app folder an Azure Functions app.
    Functions(functions::FunctionsArgs),
}

/// Runs the command that the process was started with.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let environment = Environment::of_process();
    let mut output = Output::of_process(&environment);
    let status = match &cli.command {
        Command::Serve(args) => serve::run(args, environment, &mut output),
        Command::Check(args) => check::run(args, environment, &mut output),
        Command::Agents(args) => agents::run(args, environment, &mut output),
        Command::Functions(args) => functions::run(args, environment, &mut output),
    };
    status.into()
}
