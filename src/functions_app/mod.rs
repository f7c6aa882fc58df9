//! The files that make an app folder a Functions app: `host.json` and one `function.json` per route of an agent.
//!
//! The templates are the files under `function-templates/`; a test holds them against the routes that are served.

mod host_routes;
mod http_functions;
mod levels;

use std::path::PathBuf;

use serde_json::{Map, Value};

pub use http_functions::Obscure;
pub use levels::{LevelProblem, level_problems};

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
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the function name {0:?} has more than {MAX_NAME} characters; shorten the agent's file name")]
pub struct NameTooLong(String);

/// The function folders of all agents with an A2A endpoint, in the order of the catalogue.
pub fn function_files(catalog: &Catalog) -> Result<Vec<AppFile>, NameTooLong> {
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

fn function_file(name: &str, template: &str, agent: &Agent) -> Result<AppFile, NameTooLong> {
    let name = name.replace("SLUG", &agent.slug);
    if name.len() > MAX_NAME {
        return Err(NameTooLong(name));
    }
    let contents = template.replace("SLUG", &agent.slug).replace("AUTH_LEVEL", auth_level(agent.http_auth.mode));
    Ok(AppFile { path: PathBuf::from(name).join("function.json"), contents })
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

/// What an existing `host.json` needs so that the host starts this binary and streams requests to it.
///
/// `Ok(None)`: nothing. `Ok(Some(text))`: the file with the missing settings added and all else kept. The route prefix is
/// left alone: it is the app's choice.
pub fn completed_host_json(existing: &str) -> Result<Option<String>, serde_json::Error> {
    let mut current: Value = serde_json::from_str(existing)?;
    let wanted: Value = serde_json::from_str(HOST_JSON)?;
    let before = current.clone();
    if let (Some(current), Some(wanted)) = (current.as_object_mut(), wanted.as_object()) {
        for key in ["version", "customHandler"] {
            if let Some(value) = wanted.get(key) {
                add_missing(current, key, value);
            }
        }
    }
    if current == before {
        return Ok(None);
    }
    serde_json::to_string_pretty(&current).map(|text| Some(text + "\n"))
}

/// Adds settings that are absent; the host reads keys without regard to case. Two switches are set whatever they say now:
/// without them the handler never sees plain HTTP.
fn add_missing(object: &mut Map<String, Value>, key: &str, wanted: &Value) {
    let present = object.keys().find(|name| name.eq_ignore_ascii_case(key)).cloned();
    let Some(present) = present else {
        object.insert(key.to_owned(), wanted.clone());
        return;
    };
    let Some(value) = object.get_mut(&present) else { return };
    match (value, wanted) {
        (Value::Object(inner), Value::Object(wanted)) => {
            for (key, wanted) in wanted {
                add_missing(inner, key, wanted);
            }
        }
        (value @ Value::Bool(false), Value::Bool(true)) => *value = Value::Bool(true),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complete_host_json_is_left_alone() {
        assert_eq!(completed_host_json(HOST_JSON).unwrap(), None);
    }

    #[test]
    fn a_host_json_keeps_its_own_settings_and_gains_what_is_missing() {
        let existing = r#"{"version":"2.0","logging":{"x":1},"CustomHandler":{"enableProxyingHttpRequest":false,
            "description":{"defaultExecutablePath":"bin/mine"}}}"#;
        let text = completed_host_json(existing).unwrap().unwrap();
        let completed: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(completed["logging"]["x"], 1);
        assert_eq!(completed["CustomHandler"]["enableProxyingHttpRequest"], true);
        assert_eq!(completed["CustomHandler"]["enableForwardingHttpRequest"], true);
        assert_eq!(completed["CustomHandler"]["description"]["defaultExecutablePath"], "bin/mine");
        assert_eq!(completed.get("extensions"), None, "the route prefix is the app's choice");
        assert_eq!(completed_host_json(&text).unwrap(), None);
    }

    #[test]
    fn templates_leave_nothing_open_but_slug_and_level() {
        for (name, template) in AGENT_FUNCTIONS.into_iter().chain([ROOT_CARD]) {
            let filled = template.replace("SLUG", "main").replace("AUTH_LEVEL", "function");
            let function: Value = serde_json::from_str(&filled).unwrap();
            let trigger = &function["bindings"][0];
            assert_eq!(trigger["type"], "httpTrigger", "{name}");
            assert_eq!(trigger["authLevel"], "function", "{name}");
            assert!(!trigger["route"].as_str().unwrap().starts_with('/'), "{name}");
        }
    }
}
