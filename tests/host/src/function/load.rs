//! Finding, checking and ordering the functions of an app.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::{Binding, Function, FunctionError, FunctionErrorReason as Reason, HttpTrigger, Trigger, parse};
use crate::{
    config::{ConfigError, Environment, HostConfig, RouteEntry, read_json},
    routing::Template,
};

/// Methods of a function made from an entry of `http.routes`.
const ALL_METHODS: [&str; 9] = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT"];
const MAX_NAME: usize = 128;

/// The functions that run, ordered by name ignoring case, and those that could not be loaded.
#[derive(Debug, Default)]
pub(crate) struct FunctionSet {
    pub(crate) functions: Vec<Function>,
    pub(crate) errors: Vec<FunctionError>,
}

/// Loads every `*/function.json`, or makes functions from `http.routes`.
pub(crate) fn load(
    app_root: &Path,
    config: &HostConfig,
    environment: &Environment,
) -> Result<FunctionSet, ConfigError> {
    let folders = function_folders(app_root)?;
    let candidates = if config.routes.is_empty() {
        folders.iter().map(|(name, file)| (name.clone(), from_folder(name, file))).collect()
    } else {
        check_routes_allowed(&folders, environment)?;
        config.routes.iter().enumerate().map(|(index, entry)| from_route(index + 1, entry)).collect()
    };
    Ok(validate(candidates, environment))
}

fn function_folders(app_root: &Path) -> Result<Vec<(String, PathBuf)>, ConfigError> {
    let unreadable = |source| ConfigError::Read { path: app_root.to_owned(), source };
    let mut folders = Vec::new();
    for entry in fs::read_dir(app_root).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let file = entry.path().join("function.json");
        if file.is_file() {
            folders.push((entry.file_name().to_string_lossy().into_owned(), file));
        }
    }
    folders.sort();
    Ok(folders)
}

fn check_routes_allowed(folders: &[(String, PathBuf)], environment: &Environment) -> Result<(), ConfigError> {
    let runtime = environment.get("FUNCTIONS_WORKER_RUNTIME");
    if !runtime.is_some_and(|runtime| runtime.eq_ignore_ascii_case("custom")) {
        return Err(ConfigError::RoutesNeedCustomRuntime { runtime: runtime.map(str::to_owned) });
    }
    match folders.first() {
        None => Ok(()),
        Some((function, _)) => Err(ConfigError::RoutesBesideFunctionJson { function: function.clone() }),
    }
}

fn from_folder(name: &str, file: &Path) -> Result<Function, Reason> {
    if !is_valid_name(name) {
        return Err(Reason::InvalidName);
    }
    parse::function(name, &read_json(file)?)
}

fn from_route(number: usize, entry: &RouteEntry) -> (String, Result<Function, Reason>) {
    let name = format!("http-handler{number}");
    let route = entry.route.as_deref().unwrap_or_default().trim();
    if route.is_empty() {
        return (name, Err(Reason::BlankRoute));
    }
    let trigger = Trigger::Http(HttpTrigger {
        route: route.trim_matches('/').to_owned(),
        methods: Some(ALL_METHODS.iter().map(ToString::to_string).collect::<BTreeSet<_>>()),
        level: entry.level,
    });
    let function = Function {
        name: name.clone(),
        trigger_name: "req".to_owned(),
        trigger,
        inputs: Vec::new(),
        outputs: vec![Binding { name: "res".to_owned(), kind: "http".to_owned(), binary: false }],
        disabled: false,
        retry: None,
    };
    (name, Ok(function))
}

fn validate(mut candidates: Vec<(String, Result<Function, Reason>)>, environment: &Environment) -> FunctionSet {
    candidates.sort_by_key(|(name, _)| name.to_ascii_uppercase());
    let mut set = FunctionSet::default();
    for (name, candidate) in candidates {
        let checked = candidate.and_then(|function| {
            check(&function, &set.functions)?;
            Ok(function)
        });
        match checked {
            Ok(mut function) => {
                function.disabled |= environment.is_true(&format!("AzureWebJobs.{name}.Disabled"))
                    || environment.is_true(&format!("AzureWebJobs_{name}_Disabled"));
                set.functions.push(function);
            }
            Err(reason) => set.errors.push(FunctionError { function: name, reason }),
        }
    }
    set
}

fn check(function: &Function, earlier: &[Function]) -> Result<(), Reason> {
    if let Some(twin) = earlier.iter().find(|other| other.name.eq_ignore_ascii_case(&function.name)) {
        return Err(Reason::DuplicateName(twin.name.clone()));
    }
    let Some(http) = function.http() else { return Ok(()) };
    let route = http.route.to_ascii_lowercase();
    // The host compares the start of the text, so "administration" is reserved too.
    if route.starts_with("admin") || route.starts_with("runtime") {
        return Err(Reason::ReservedRoute(http.route.clone()));
    }
    Template::parse(&http.route)?;
    let conflict = earlier.iter().find(|other| other.http().is_some_and(|other| other.overlaps(http)));
    match conflict {
        None => Ok(()),
        Some(other) => Err(Reason::RouteConflict { route: http.route.clone(), other: other.name.clone() }),
    }
}

fn is_valid_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.len() <= MAX_NAME
        && name.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '-'))
        && !name.eq_ignore_ascii_case("host")
}

#[cfg(test)]
mod tests;
