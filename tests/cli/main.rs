//! The command line as a user meets it: exit status, standard output and standard error.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod agents;
mod check;
mod functions;
mod help;

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// What a command left behind.
struct Ran {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs the program with an environment of its own, in an app folder.
fn run_in(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_a2a-functions"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    Ran {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

const GOOD: &str = "\
---
name: One
description: Does one thing.
builtin_endpoints:
  a2a:
    url: https://example.com/agents/one/a2a
system_tools: {web_request: false}
---
You are one.
";
