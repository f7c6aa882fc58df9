//! The files that make an app folder a Functions app: `host.json` and one `function.json` per route of an agent.
//!
//! The templates are the files under `function-templates/`; a test holds them against the routes that are served.

mod host_json;
mod host_routes;
mod http_functions;
mod levels;
mod write;

use std::path::PathBuf;

use serde_json::{Value, json};

pub use host_json::{CompletedHostJson, HostJsonFault, completed_host_json};
pub use http_functions::Obscure;
pub use levels::{LevelProblem, level_problems};
pub use write::{WriteError, read_own, write_all};

use crate::agents::{Agent, AuthMode, Catalog};

const HOST_JSON: &str = include_str!("../../host.json");
/// Functions of each agent: name and binding, with `SLUG` and `AUTH_LEVEL` left open.
const AGENT_FUNCTIONS: [(&str, &str); 3] = [
    ("agent_SLUG_a2a_card", include_str!("../../function-templates/agent_SLUG_a2a_card/function.json")),
    ("agent_SLUG_a2a_rpc", include_str!("../../function-templates/agent_SLUG_a2a_rpc/function.json")),
    ("agent_SLUG_a2a_rpc_card", include_str!("../../function-templates/agent_SLUG_a2a_rpc_card/function.json")),
];
/// The function of an app with one agent: its card at the root of the domain.
const ROOT_CARD: (&str, &str) = ("a2a_root_card", include_str!("../../function-templates/a2a_root_card/function.json"));
/// Longest name of a function, in characters (Functions host).
const MAX_NAME: usize = 128;

/// A file of a Functions app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppFile {
    /// Where it belongs, relative to the app folder.
    pub path: PathBuf,
    /// What it holds.
    pub contents: String,
}

/// An agent that the Functions host cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum FunctionFileError {
    /// The host refuses the name.
    #[error("the function name {0:?} has more than {MAX_NAME} characters; shorten the agent's file name")]
    NameTooLong(String),
    /// A template of this program is broken.
    #[error("a function.json cannot be made: {0}")]
    Template(#[from] serde_json::Error),
}

/// The function folders of all agents with an A2A endpoint, in the order of the catalogue.
pub fn function_files(catalog: &Catalog) -> Result<Vec<AppFile>, FunctionFileError> {
    let served: Vec<&Agent> = catalog.agents.iter().map(AsRef::as_ref).filter(|agent| agent.a2a.is_some()).collect();
    let mut files = Vec::with_capacity(served.len() * AGENT_FUNCTIONS.len() + 1);
    for agent in &served {
        for (name, template) in AGENT_FUNCTIONS {
            files.push(function_file(name, template, agent)?);
        }
    }
    if let [only] = served.as_slice() {
        files.push(function_file(ROOT_CARD.0, ROOT_CARD.1, only)?);
    }
    Ok(files)
}

fn function_file(name: &str, template: &str, agent: &Agent) -> Result<AppFile, FunctionFileError> {
    let name = name.replace("SLUG", &agent.slug);
    if name.len() > MAX_NAME {
        return Err(FunctionFileError::NameTooLong(name));
    }
    let function = filled(template, &agent.slug, auth_level(agent.http_auth.mode))?;
    let contents = serde_json::to_string_pretty(&function)? + "\n";
    Ok(AppFile { path: PathBuf::from(name).join("function.json"), contents })
}

/// A template with its open places filled.
fn filled(template: &str, slug: &str, level: &str) -> Result<Value, serde_json::Error> {
    let mut function: Value = serde_json::from_str(template)?;
    if let Some(trigger) = function.pointer_mut("/bindings/0") {
        let route = trigger["route"].as_str().unwrap_or_default().replace("SLUG", slug);
        trigger["route"] = json!(route);
        trigger["authLevel"] = json!(level);
    }
    Ok(function)
}

/// The level at which the Functions host checks keys for an agent's routes.
pub fn auth_level(mode: AuthMode) -> &'static str {
    match mode {
        AuthMode::Function => "function",
        AuthMode::Admin => "admin",
        // Tokens are judged in this process; the host lets the request through.
        AuthMode::Anonymous | AuthMode::Entra => "anonymous",
    }
}

/// `host.json` of a new app folder.
pub fn new_host_json() -> AppFile {
    AppFile { path: PathBuf::from("host.json"), contents: HOST_JSON.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_that_looks_like_a_placeholder_is_a_slug() {
        for slug in ["AUTH_LEVEL", "SLUG", "xSLUGx_AUTH_LEVEL"] {
            for (_, template) in AGENT_FUNCTIONS {
                let function = filled(template, slug, "function").unwrap();
                let trigger = &function["bindings"][0];
                assert!(trigger["route"].as_str().unwrap().starts_with(&format!("agents/{slug}/")), "{trigger}");
                assert_eq!(trigger["authLevel"], "function");
            }
        }
    }

    #[test]
    fn templates_leave_nothing_open_but_slug_and_level() {
        for (name, template) in AGENT_FUNCTIONS.into_iter().chain([ROOT_CARD]) {
            let function = filled(template, "main", "function").unwrap();
            assert!(!function.to_string().contains("SLUG") && !function.to_string().contains("AUTH_LEVEL"), "{name}");
            let trigger = &function["bindings"][0];
            assert_eq!(trigger["type"], "httpTrigger", "{name}");
            assert_eq!(trigger["authLevel"], "function", "{name}");
            assert!(!trigger["route"].as_str().unwrap().starts_with('/'), "{name}");
        }
    }
}
