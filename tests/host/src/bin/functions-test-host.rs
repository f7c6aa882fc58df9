//! Runs an app under the stand-in host, like `func start` without the Azure tools.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line talks to its user")]

use std::{cell::Cell, path::PathBuf, process::ExitCode, time::Duration};

use clap::{Parser, ValueEnum};
use functions_test_host::{FunctionsHost, Keys, LogLevel, LogLine, Profile};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::timeout,
};

/// A stand-in for the Azure Functions host.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// Folder with host.json.
    #[arg(long, default_value = ".")]
    app_root: PathBuf,
    /// Port on 127.0.0.1; 0 is any free one.
    #[arg(long, default_value_t = 7071)]
    port: u16,
    /// Executable to start instead of the one in host.json.
    #[arg(long)]
    executable: Option<PathBuf>,
    /// Which host to imitate.
    #[arg(long, value_enum, default_value_t = ProfileName::Coretools)]
    profile: ProfileName,
    /// JSON file with the access keys; used by the azure profile.
    #[arg(long)]
    keys: Option<PathBuf>,
    /// Copies of the host behind a round robin.
    #[arg(long, default_value_t = 1)]
    copies: usize,
    /// An app setting, NAME=VALUE; may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProfileName {
    /// Keys are not enforced.
    Coretools,
    /// Keys are enforced.
    Azure,
}

fn setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("functions-test-host: {}", with_causes(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut builder = FunctionsHost::builder(&arguments.app_root)
        .port(arguments.port)
        .copies(arguments.copies)
        .profile(match arguments.profile {
            ProfileName::Coretools => Profile::CoreTools,
            ProfileName::Azure => Profile::Azure,
        });
    if let Some(file) = &arguments.keys {
        builder = builder.keys(Keys::from_file(file)?);
    }
    if let Some(executable) = arguments.executable {
        builder = builder.executable_override(std::path::absolute(executable)?);
    }
    for (name, value) in arguments.settings {
        builder = builder.env(name, value);
    }
    let host = builder.start().await?;
    println!("listening on {} ({:?} mode), functions: {}", host.base_url(), host.mode(), host.functions().join(", "));
    let mut terminate = signal(SignalKind::terminate())?;
    let printed = Cell::new(0);
    let stopped = tokio::select! {
        () = print_logs(&host, &printed) => None,
        reason = all_stopped(&host, arguments.copies) => Some(reason),
        _ = terminate.recv() => None,
        interrupted = tokio::signal::ctrl_c() => { interrupted?; None }
    };
    // What was logged last, such as the reason of a stop.
    let _ = timeout(Duration::ZERO, print_logs(&host, &printed)).await;
    host.stop().await;
    match stopped {
        None => Ok(ExitCode::SUCCESS),
        Some(reason) => Err(reason.into()),
    }
}

/// Waits until every copy has given up and returns the reason of the last one.
async fn all_stopped(host: &FunctionsHost, copies: usize) -> String {
    let mut last = String::new();
    for copy in 0..copies {
        last = host.wait_stopped(copy).await.unwrap_or_default();
    }
    last
}

/// Prints log lines as they arrive; never returns.
async fn print_logs(host: &FunctionsHost, printed: &Cell<usize>) {
    loop {
        let (lines, count) = host.logs_after(printed.get()).await;
        printed.set(count);
        lines.iter().for_each(print_line);
    }
}

fn print_line(line: &LogLine) {
    if line.level == LogLevel::Information { println!("{line}") } else { eprintln!("{line}") }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
