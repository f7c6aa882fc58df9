//! Whether the Functions host asks for the keys that the agents demand.
//!
//! Behind the host this process sees requests that were let in, not how: a `function.json` that says `anonymous` for an
//! agent with `http_auth: function` would open it to everybody. So the files are read before anything is served.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::auth_level;
use crate::agents::Catalog;

/// A function that lets callers in whom its agent would refuse, or the other way round.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{function}/function.json has authLevel {found:?}, but {agent} has http_auth {wanted:?}: run `a2a-functions \
     functions init --force` after changing http_auth"
)]
pub struct LevelMismatch {
    function: String,
    agent: String,
    found: String,
    wanted: &'static str,
}

#[derive(Deserialize)]
struct FunctionJson {
    #[serde(default)]
    bindings: Vec<Binding>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Binding {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    route: String,
    /// The host asks for a function key when nothing is said.
    #[serde(default = "function_level")]
    auth_level: String,
}

fn function_level() -> String {
    "function".to_owned()
}

/// All mismatches of the function folders below `root`. Folders that serve no agent's route are none of our business.
pub fn level_mismatches(root: &Path, catalog: &Catalog) -> Vec<LevelMismatch> {
    let Ok(entries) = fs::read_dir(root) else { return Vec::new() };
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names.iter().flat_map(|name| mismatches_of(root, name, catalog)).collect()
}

fn mismatches_of(root: &Path, name: &str, catalog: &Catalog) -> Vec<LevelMismatch> {
    let Ok(text) = fs::read_to_string(root.join(name).join("function.json")) else { return Vec::new() };
    let Ok(function) = serde_json::from_str::<FunctionJson>(&text) else { return Vec::new() };
    let triggers = function.bindings.iter().filter(|binding| binding.kind.eq_ignore_ascii_case("httpTrigger"));
    triggers.filter_map(|trigger| mismatch(name, trigger, catalog)).collect()
}

fn mismatch(name: &str, trigger: &Binding, catalog: &Catalog) -> Option<LevelMismatch> {
    let route = trigger.route.trim_matches('/');
    let served = || catalog.agents.iter().filter(|agent| agent.a2a.is_some());
    let agent = match route.strip_prefix("agents/").and_then(|route| route.split_once('/')) {
        Some((slug, _)) => served().find(|agent| agent.slug.eq_ignore_ascii_case(slug))?,
        None if route == ".well-known/agent-card.json" => served().next()?,
        None => return None,
    };
    let wanted = auth_level(agent.http_auth.mode);
    (!trigger.auth_level.eq_ignore_ascii_case(wanted)).then(|| LevelMismatch {
        function: name.to_owned(),
        agent: agent.source_file.clone(),
        found: trigger.auth_level.clone(),
        wanted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::load;
    use crate::config::Environment;
    use crate::functions_app::function_files;

    fn app(level: Option<&str>) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        let agent = "---\nname: Main\ndescription: Helps.\nbuiltin_endpoints:\n  a2a:\n    url: http://localhost:7071/agents/main/a2a\n---\nHelp.\n";
        fs::write(root.path().join("main.agent.md"), agent).unwrap();
        let catalog = load(root.path(), Environment::from([])).catalog.unwrap();
        for file in function_files(&catalog).unwrap() {
            let path = root.path().join(&file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let contents = match level {
                Some(level) => file.contents.replace("\"authLevel\": \"function\"", level),
                None => file.contents,
            };
            fs::write(path, contents).unwrap();
        }
        level_mismatches(root.path(), &catalog).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_files_that_init_writes_agree_with_the_agents() {
        assert_eq!(app(None), Vec::<String>::new());
    }

    #[test]
    fn a_function_that_asks_for_less_is_found() {
        let found = app(Some("\"authLevel\": \"anonymous\""));
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].contains("a2a_root_card/function.json has authLevel \"anonymous\""), "{found:?}");
    }

    #[test]
    fn a_function_that_says_nothing_asks_for_a_function_key() {
        assert_eq!(app(Some("\"name\": \"req\"")).len(), 0);
    }
}
