//! `a2a-functions functions init`: turns an app folder into a Functions app.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::check::status;
use super::{ExitStatus, Output};
use crate::agents::load;
use crate::config::{Environment, app_root, variables};
use crate::functions_app::{AppFile, completed_host_json, function_files, new_host_json};

/// Options of `functions`.
#[derive(Debug, clap::Args)]
pub(super) struct FunctionsArgs {
    #[command(subcommand)]
    command: FunctionsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum FunctionsCommand {
    /// Write host.json, and a function.json for each route of each agent that has an A2A endpoint.
    Init(InitArgs),
}

/// Options of `functions init`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
host.json starts this program, `a2a-functions serve`, as a custom handler. Each function.json asks for the keys that the \
agent's http_auth demands: repeat the command after adding or renaming agents, and with --force after changing it.

Either every file is written or none. Exit status: 0 when the files are as they should be, 1 when a file says something \
else and --force is not given or the agents cannot be served, 2 when the folder cannot be read.

Examples:
  a2a-functions functions init my-app
  a2a-functions functions init --force my-app")]
struct InitArgs {
    /// The app folder; the current one when left out.
    dir: Option<PathBuf>,
    /// Overwrite files that say something else, and add to host.json what it lacks.
    #[arg(long)]
    force: bool,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs a command of the group.
pub(super) fn run(args: &FunctionsArgs, environment: Environment, output: &mut Output) -> ExitStatus {
    match &args.command {
        FunctionsCommand::Init(args) => init(args, environment, output),
    }
}

fn init(args: &InitArgs, environment: Environment, output: &mut Output) -> ExitStatus {
    let root = app_root(args.dir.as_deref(), &environment);
    // Every Functions host sets it, and agents may put it into their address. What is written here does not depend on it.
    let loaded = load(&root, environment.or(variables::WEBSITE_HOSTNAME.name, "localhost:7071"));
    output.message_findings(&loaded.diagnostics);
    let Some(catalog) = &loaded.catalog else { return status(&loaded.diagnostics) };
    let plan = function_files(catalog).map_err(|error| error.to_string()).and_then(|functions| plan(&root, functions));
    let plan = match plan {
        Ok(plan) => plan,
        Err(problem) => {
            output.message(&format!("error: {problem}"));
            return ExitStatus::Problems;
        }
    };
    // Nothing is written unless everything may be: half a set of functions would serve half an app.
    let conflicts: Vec<_> = plan.iter().filter(|step| step.action == Action::Overwrite).collect();
    if !conflicts.is_empty() && !args.force {
        for step in &conflicts {
            output.message(&format!("error: {} exists and says something else", step.file.path.display()));
        }
        output.message("Nothing was written. Look at the files, then repeat with --force to overwrite them.");
        return ExitStatus::Problems;
    }
    if let Err((path, error)) = carry_out(&root, &plan) {
        output.message(&format!("error: {} cannot be written: {error}", path.display()));
        return ExitStatus::Problems;
    }
    report(&plan, args.json, output);
    warn_of_leftovers(&root, &plan, output);
    ExitStatus::Success
}

/// One file, and what is to be done about it.
#[derive(Debug)]
struct Step {
    file: AppFile,
    action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Create,
    Keep,
    Overwrite,
}

impl Action {
    fn word(self) -> &'static str {
        match self {
            Self::Create => "created",
            Self::Keep => "unchanged",
            Self::Overwrite => "overwritten",
        }
    }
}

fn plan(root: &Path, functions: Vec<AppFile>) -> Result<Vec<Step>, String> {
    let mut steps = vec![plan_host_json(root)?];
    for file in functions {
        let action = match read(root, &file.path)? {
            None => Action::Create,
            Some(present) if present == file.contents => Action::Keep,
            Some(_) => Action::Overwrite,
        };
        steps.push(Step { file, action });
    }
    Ok(steps)
}

fn plan_host_json(root: &Path) -> Result<Step, String> {
    let file = new_host_json();
    let Some(present) = read(root, &file.path)? else { return Ok(Step { file, action: Action::Create }) };
    match completed_host_json(&present).map_err(|error| format!("host.json: {error}"))? {
        None => Ok(Step { file, action: Action::Keep }),
        Some(contents) => Ok(Step { file: AppFile { contents, ..file }, action: Action::Overwrite }),
    }
}

fn read(root: &Path, path: &Path) -> Result<Option<String>, String> {
    match fs::read_to_string(root.join(path)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
    }
}

fn carry_out(root: &Path, plan: &[Step]) -> Result<(), (PathBuf, io::Error)> {
    for step in plan.iter().filter(|step| step.action != Action::Keep) {
        let path = root.join(&step.file.path);
        let written =
            path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, &step.file.contents));
        written.map_err(|error| (path, error))?;
    }
    Ok(())
}

fn report(plan: &[Step], as_json: bool, output: &mut Output) {
    if as_json {
        let files: Vec<_> = plan
            .iter()
            .map(|step| json!({ "path": step.file.path.to_string_lossy(), "action": step.action.word() }))
            .collect();
        output.json(&json!({ "files": files }));
    } else {
        for step in plan {
            output.line(&format!("{:<11} {}", step.action.word(), step.file.path.display()));
        }
    }
}

/// Folders of agents that are gone still make routes; only the user can tell whether they are wanted.
fn warn_of_leftovers(root: &Path, plan: &[Step], output: &mut Output) {
    let Ok(entries) = fs::read_dir(root) else { return };
    let mut leftovers: Vec<_> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name == "a2a_root_card" || (name.starts_with("agent_") && name.contains("_a2a_")))
        .filter(|name| !plan.iter().any(|step| step.file.path.starts_with(name)))
        .collect();
    leftovers.sort();
    for name in leftovers {
        output.message(&format!("warning: the folder {name} belongs to no agent of this app any more; remove it"));
    }
}
