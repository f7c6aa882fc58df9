//! `a2a-functions agents`: the agents of an app folder, and where each is reached.

use std::fmt::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::check::status;
use super::{ExitStatus, Output};
use crate::agents::{A2aEndpoint, Agent, Catalog, load};
use crate::config::{Environment, app_root, printable};

/// Options of `agents`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Findings go to standard error; a folder that cannot start is not listed. The exit status is that of `check`.

Examples:
  a2a-functions agents my-app
  a2a-functions agents --json my-app")]
pub(super) struct AgentsArgs {
    /// The app folder; the current one when left out.
    dir: Option<PathBuf>,
    /// Print the agents as JSON.
    #[arg(long)]
    json: bool,
}

/// Lists the agents of a folder. Findings go to standard error; a folder that cannot start is not listed.
pub(super) fn run(args: &AgentsArgs, environment: Environment, output: &mut Output) -> ExitStatus {
    let root = app_root(args.dir.as_deref(), &environment);
    let loaded = load(&root, environment);
    output.message_findings(&loaded.diagnostics);
    if let Some(catalog) = &loaded.catalog {
        if args.json {
            let agents: Vec<_> = catalog.agents.iter().map(|agent| as_json(catalog, agent)).collect();
            output.json(&json!({ "agents": agents }));
        } else {
            for agent in &catalog.agents {
                output.line(&as_text(catalog, agent));
            }
        }
    }
    status(&loaded.diagnostics)
}

fn as_json(catalog: &Catalog, agent: &Agent) -> Value {
    let a2a = agent.a2a.as_ref().map(|a2a| {
        json!({
            "url": a2a.url,
            "card_url": a2a.card_url(),
            "route": catalog.a2a_route(agent),
            "card_route": catalog.card_route(agent),
            "context": a2a.context,
            "context_wait_seconds": a2a.context_wait.as_secs_f64(),
        })
    });
    json!({
        "slug": agent.slug,
        "name": agent.name,
        "description": agent.description,
        "file": agent.source_file,
        "model": agent.model,
        "timeout_seconds": agent.timeout.as_secs_f64(),
        "http_auth": agent.http_auth.mode,
        "a2a": a2a,
    })
}

fn as_text(catalog: &Catalog, agent: &Agent) -> String {
    let mut rows = vec![
        ("file", agent.source_file.clone()),
        ("auth", word(&agent.http_auth.mode)),
        ("model", agent.model.clone().unwrap_or_else(|| "left to the provider".to_owned())),
    ];
    match &agent.a2a {
        Some(a2a) => rows.extend(endpoint_rows(catalog, agent, a2a)),
        None => rows.push(("a2a", "none, so this agent is not served here".to_owned())),
    }
    let mut text = format!("{}  {}\n", agent.slug, printable(&agent.name));
    for (title, value) in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {title:<9} {}", printable(&value));
    }
    text
}

fn endpoint_rows(catalog: &Catalog, agent: &Agent, a2a: &A2aEndpoint) -> [(&'static str, String); 6] {
    let card_url = a2a.card_url().unwrap_or_else(|| "whatever the gateway maps to the card route".to_owned());
    [
        ("context", word(&a2a.context)),
        ("wait", format!("{} s", a2a.context_wait.as_secs_f64())),
        ("endpoint", format!("POST {}", catalog.a2a_route(agent))),
        ("card", format!("GET  {}", catalog.card_route(agent))),
        ("url", a2a.url.clone()),
        ("card url", card_url),
    ]
}

/// The word that a setting is written with.
fn word(setting: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(setting).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
