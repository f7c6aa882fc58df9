//! Loading an app folder: every file is read, every rule is checked, and all findings come back at once.

use std::path::Path;
use std::sync::Arc;

use super::agent_file::AgentFile;
use super::app_settings::AppSettings;
use super::discover::discover;
use super::document::URL_FIELD;
use super::inventory::Inventory;
use super::resolve::{incomplete_entra, resolve};
use super::{Agent, Catalog, relations, unserved};
use crate::config::{Code, Diagnostic, Diagnostics, Environment, Severity, local_settings, route_prefix};

/// What came of loading a folder.
#[derive(Debug)]
pub struct Loaded {
    /// The agents; `None` when a finding stops the app.
    pub catalog: Option<Catalog>,
    /// All findings.
    pub diagnostics: Diagnostics,
    /// The environment of the process, filled up from `local.settings.json`.
    pub environment: Environment,
}

/// Loads the app folder `root`. `process` is the environment of the process.
pub fn load(root: &Path, process: Environment) -> Loaded {
    let mut findings = Diagnostics::default();
    let files = match discover(root) {
        Ok(files) => files,
        Err(finding) => {
            findings.push(*finding);
            return Loaded { catalog: None, diagnostics: findings, environment: process };
        }
    };
    let environment = local_settings(root, process, &mut findings);
    let prefix = route_prefix(root, &environment).unwrap_or_else(|finding| {
        findings.push(*finding);
        String::new()
    });
    let app = AppSettings::read(root, &environment, &mut findings);
    let agents: Vec<_> =
        files.iter().filter_map(|file| AgentFile::read(root, file, &environment, &mut findings)).collect();
    let inventory = Inventory::read(root, &mut findings);
    relations::check(&agents, &inventory, &mut findings);
    let catalog = app.map(|app| {
        let catalog = Catalog {
            root: root.to_path_buf(),
            route_prefix: prefix,
            agents: finish(&agents, &app, &inventory, &mut findings),
            limits: app.limits,
        };
        check_served(&catalog, &agents, &mut findings);
        catalog
    });
    Loaded { catalog: catalog.filter(|_| !findings.stop_the_app()), diagnostics: findings, environment }
}

fn finish(
    files: &[AgentFile],
    app: &AppSettings,
    inventory: &Inventory,
    findings: &mut Diagnostics,
) -> Vec<Arc<Agent>> {
    let agents = files.iter().map(|file| {
        let agent = resolve(file, app, findings);
        unserved::check(file, app, inventory, findings);
        if let Some(finding) = incomplete_entra(file, &agent) {
            findings.push(finding);
        }
        Arc::new(agent)
    });
    let agents = agents.collect();
    if let Some(note) = unserved::web_request_note(files, app) {
        findings.push(note);
    }
    agents
}

/// Says when there is nothing to serve, and when a published address does not look like the route it should reach.
fn check_served(catalog: &Catalog, files: &[AgentFile], findings: &mut Diagnostics) {
    if catalog.agents.is_empty() {
        findings.push(
            Diagnostic::new(Severity::Error, Code::NoAgents, "no agent of this folder can be loaded")
                .help("add a file such as `my.agent.md` with a `name` and a `description`, and mend those left out"),
        );
    } else if catalog.agents.iter().all(|agent| agent.a2a.is_none()) && !findings.stop_the_app() {
        findings.push(
            Diagnostic::new(
                Severity::Warning,
                Code::NothingServed,
                "no agent has an A2A endpoint, so nothing is served",
            )
            .help("add `builtin_endpoints: {a2a: {url: …}}` to an agent"),
        );
    }
    for (agent, file) in catalog.agents.iter().zip(files) {
        let (Some(a2a), Some(fields)) = (&agent.a2a, file.a2a()) else {
            continue;
        };
        let route = catalog.a2a_route(agent);
        if !a2a.path_is(&route) {
            let message = format!("the path of this address is not the route that is served, `{route}`");
            findings.push(
                file.finding(Severity::Warning, Code::UrlPathDiffers, &fields.value.url.span, URL_FIELD, message)
                    .help("fine behind a gateway that rewrites the path; otherwise correct the address"),
            );
        }
    }
}
