//! Loading whole folders: what comes out, and what is said about it.

mod auth_and_context;
mod discovery;
mod features;
mod merging;
mod shape;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::{Agent, Loaded, load};
use crate::config::{Code, Diagnostic, Environment, Severity};

/// Notes that nearly every folder gives; left out where a test is about something else.
const USUAL: [Code; 3] = [Code::WebRequestNotServed, Code::OwnField, Code::EndpointNotServed];

fn load_files(files: &[(&str, &str)], environment: Environment) -> Loaded {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).unwrap();
        fs::write(path, text).unwrap();
    }
    load(folder.path(), environment)
}

/// Loads one agent with an A2A endpoint and these further lines of front matter.
fn load_with(lines: &str) -> Loaded {
    load_files(&[("one.agent.md", &agent(lines))], Environment::default())
}

/// An agent file with an A2A endpoint, with further lines of front matter.
fn agent(lines: &str) -> String {
    let endpoint = if lines.contains("builtin_endpoints") {
        ""
    } else {
        "builtin_endpoints:\n  a2a:\n    url: https://example.com/agents/one/a2a\n"
    };
    format!("---\nname: One\ndescription: Does one thing.\n{endpoint}{lines}\n---\nYou are one.\n")
}

/// An agent file whose `a2a` has these members beside `url`.
fn agent_with_a2a(members: &str) -> String {
    agent(&format!("builtin_endpoints:\n  a2a: {{url: https://example.com/agents/one/a2a, {members}}}"))
}

/// What was found, the usual notes aside.
fn found(loaded: &Loaded) -> Vec<(Severity, Code)> {
    let findings = loaded.diagnostics.iter().filter(|finding| !USUAL.contains(&finding.code));
    findings.map(|finding| (finding.severity, finding.code)).collect()
}

/// The one finding with a code.
fn finding(loaded: &Loaded, code: Code) -> &Diagnostic {
    let mut all = loaded.diagnostics.iter().filter(|finding| finding.code == code);
    let first = all.next().unwrap_or_else(|| panic!("no {code:?} in {:?}", loaded.diagnostics));
    assert_eq!(all.next(), None, "more than one {code:?}");
    first
}

/// The one agent of a folder that loads.
fn only(loaded: &Loaded) -> Arc<Agent> {
    let catalog = loaded.catalog.as_ref().unwrap_or_else(|| panic!("does not load: {:?}", loaded.diagnostics));
    assert_eq!(catalog.agents.len(), 1);
    Arc::clone(&catalog.agents[0])
}
