//! `a2a-functions check`: everything that is wrong with an app folder, and what to do about it.

use std::path::PathBuf;

use super::{ExitStatus, Output};
use crate::agents::load;
use crate::config::{Code, Diagnostics, Environment, Summary, app_root, to_json};

/// Options of `check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status: 0 when the folder can be served, 1 when something must be changed, 2 when it cannot be read.

Examples:
  a2a-functions check my-app
  a2a-functions check --json my-app")]
pub(super) struct CheckArgs {
    /// The app folder; the current one when left out.
    dir: Option<PathBuf>,
    /// Print the findings as JSON; match on `code`, texts may change.
    #[arg(long)]
    json: bool,
}

/// Checks a folder and prints all findings.
pub(super) fn run(args: &CheckArgs, environment: Environment, output: &mut Output) -> ExitStatus {
    let root = app_root(args.dir.as_deref(), &environment);
    let loaded = load(&root, environment);
    let summary = loaded.diagnostics.summary();
    if args.json {
        output.json(&to_json(&loaded.diagnostics));
    } else {
        output.findings(&loaded.diagnostics);
        output.line(&format!("{}: {}", root.display(), in_words(summary)));
    }
    status(&loaded.diagnostics)
}

/// The exit status that findings lead to.
pub(super) fn status(findings: &Diagnostics) -> ExitStatus {
    if findings.iter().any(|finding| finding.code == Code::FolderUnreadable) {
        ExitStatus::Usage
    } else if findings.summary().has_problems() {
        ExitStatus::Problems
    } else {
        ExitStatus::Success
    }
}

fn in_words(summary: Summary) -> String {
    let counts = [
        (summary.errors, "error", "errors"),
        (summary.skipped, "fault that leaves an agent out", "faults that leave agents out"),
        (summary.warnings, "warning", "warnings"),
        (summary.notes, "note", "notes"),
    ];
    let words: Vec<_> = counts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }))
        .collect();
    if words.is_empty() { "no problems".to_owned() } else { words.join(", ") }
}
