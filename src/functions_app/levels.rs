//! Whether the Functions host asks for the keys that the agents demand.
//!
//! Behind the host this process sees requests that were let in, not how. So before anything is served, every function that
//! the host may make of the app is held against the agents. Whatever is in doubt stops the start: all HTTP functions of the
//! app end in this process, so one that can lead to no agent is of no use, and refusing it costs nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::http_functions::{HttpFunction, Obscure, of_folders};
use super::{auth_level, host_routes};
use crate::agents::{Agent, AuthMode, Catalog};
use crate::config::{Environment, variables};

/// Why the keys that agents demand may not be asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LevelProblem {
    /// A function lets callers in whom its agent would refuse, or the other way round.
    #[error(
        "{origin} has authLevel {found:?}, but {agent} has http_auth {wanted:?}: run `a2a-functions functions init \
         --force` after changing http_auth"
    )]
    Mismatch {
        /// Where the function is written.
        origin: String,
        /// Its level.
        found: String,
        /// The agent's file.
        agent: String,
        /// The level that the agent demands.
        wanted: &'static str,
    },
    /// The route of a function is no plain path, so it may lead to an agent that demands more.
    #[error(
        "{origin} has authLevel {found:?} and the route {route:?}, which may lead to {agent} with http_auth {wanted:?}: \
         remove the function, or give it a route without parameters; `a2a-functions functions init` writes a function for \
         each route of each agent"
    )]
    MayReach {
        /// Where the function is written.
        origin: String,
        /// Its level.
        found: String,
        /// Its route.
        route: String,
        /// The agent's file.
        agent: String,
        /// The level that the agent demands.
        wanted: &'static str,
    },
    /// A function cannot be understood.
    #[error(transparent)]
    Obscure(#[from] Obscure),
    /// No function is found, so requests come by a way that cannot be checked.
    #[error(
        "{agent} has http_auth {wanted:?}, but there is no function.json below {folders}, so it is not known who asks for \
         the keys: run `a2a-functions functions init`, and deploy the folders that it writes"
    )]
    NoFunction {
        /// An agent's file.
        agent: String,
        /// The level that the agent demands.
        wanted: &'static str,
        /// Where functions were looked for.
        folders: String,
    },
}

/// All that may let callers in whom an agent would refuse: in the app folder, and where the host says its functions are.
pub fn level_problems(app_root: &Path, catalog: &Catalog, environment: &Environment) -> Vec<LevelProblem> {
    let mut problems = Vec::new();
    let mut found_any = false;
    let roots = roots(app_root, environment);
    for root in &roots {
        for functions in [of_folders(root), host_routes::of_host_json(root, environment)] {
            match functions {
                Ok(functions) => {
                    found_any |= !functions.is_empty();
                    problems.extend(functions.iter().filter_map(|function| problem(function, catalog)));
                }
                Err(obscure) => problems.push(obscure.into()),
            }
        }
    }
    let strictest = served(catalog).max_by_key(|agent| demanded(agent.http_auth.mode));
    if let Some(agent) =
        strictest.filter(|agent| demanded(agent.http_auth.mode) > 0 && !found_any && problems.is_empty())
    {
        let folders: Vec<_> = roots.iter().map(|root| root.display().to_string()).collect();
        problems.push(LevelProblem::NoFunction {
            agent: agent.source_file.clone(),
            wanted: auth_level(agent.http_auth.mode),
            folders: folders.join(" or "),
        });
    }
    problems
}

/// The folders that may hold the host's functions, each once.
fn roots(app_root: &Path, environment: &Environment) -> Vec<PathBuf> {
    let of_host = [variables::HANDLER_ROOT, variables::SCRIPT_ROOT];
    let of_host = of_host.into_iter().filter_map(|variable| environment.get_filled(variable.name)).map(PathBuf::from);
    let mut seen = BTreeSet::new();
    let mut roots: Vec<PathBuf> = std::iter::once(app_root.to_path_buf()).chain(of_host).collect();
    roots.retain(|root| seen.insert(fs::canonicalize(root).unwrap_or_else(|_| root.clone())));
    roots
}

fn served(catalog: &Catalog) -> impl Iterator<Item = &Agent> {
    catalog.agents.iter().map(AsRef::as_ref).filter(|agent| agent.a2a.is_some())
}

/// How much an agent demands of a function.
fn demanded(mode: AuthMode) -> u8 {
    match mode {
        AuthMode::Anonymous | AuthMode::Entra => 0,
        AuthMode::Function => 1,
        AuthMode::Admin => 2,
    }
}

/// How much a function demands of callers. A level that is not known to ask for a function key asks for nothing.
fn asked(level: &str) -> u8 {
    match level {
        _ if level.eq_ignore_ascii_case("function") => 1,
        _ if level.eq_ignore_ascii_case("admin") => 2,
        _ => 0,
    }
}

fn problem(function: &HttpFunction, catalog: &Catalog) -> Option<LevelProblem> {
    let (origin, found) = (function.origin.clone(), function.level.clone());
    let path = format!("{}/{}", catalog.route_prefix, function.route.trim());
    if let Some(path) = plain(&path) {
        let agent = agent_at(&path, catalog)?;
        let wanted = auth_level(agent.http_auth.mode);
        return (!found.eq_ignore_ascii_case(wanted)).then(|| LevelProblem::Mismatch {
            origin,
            found,
            agent: agent.source_file.clone(),
            wanted,
        });
    }
    let agent = served(catalog).find(|agent| demanded(agent.http_auth.mode) > asked(&found))?;
    Some(LevelProblem::MayReach {
        origin,
        found,
        route: function.route.clone(),
        agent: agent.source_file.clone(),
        wanted: auth_level(agent.http_auth.mode),
    })
}

/// The one path that a template matches, in lower case and without slashes at its ends; `None` when it may match others.
///
/// Parameters are not looked into: a host that forwards (instead of proxying) resolves escapes and dot segments after it has
/// chosen the function, so what they match says little about the path that arrives here.
fn plain(template: &str) -> Option<String> {
    let template = template.trim_matches('/');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut segments = template.split('/');
    let plain = segments.all(|segment| !matches!(segment, "" | "." | "..") && segment.chars().all(is_plain));
    plain.then(|| template.to_ascii_lowercase())
}

/// The agent whose endpoint or card has a path. The host does not tell letter case apart.
fn agent_at<'c>(path: &str, catalog: &'c Catalog) -> Option<&'c Agent> {
    const CARD: &str = ".well-known/agent-card.json";
    let below = match catalog.route_prefix.to_ascii_lowercase() {
        prefix if prefix.is_empty() => Some(path),
        prefix => path.strip_prefix(&prefix).and_then(|rest| rest.strip_prefix('/')),
    };
    if path == CARD || below == Some(CARD) {
        // Served when there is one agent.
        return served(catalog).next();
    }
    let (slug, _) = below?.strip_prefix("agents/")?.split_once('/')?;
    served(catalog).find(|agent| agent.slug.eq_ignore_ascii_case(slug))
}

#[cfg(test)]
mod tests;
