//! Rules that look at several agents, or at an agent and what can reach it.

use std::collections::{BTreeMap, HashSet};

use super::agent_file::AgentFile;
use super::inventory::Inventory;
use crate::config::{Code, Diagnostic, Diagnostics, Severity};

/// Trigger types that cannot start an agent.
const UNSUPPORTED_TRIGGERS: [&str; 10] = [
    "activity_trigger",
    "assistant_skill_trigger",
    "entity_trigger",
    "mcp_prompt_trigger",
    "mcp_resource_trigger",
    "mcp_tool_trigger",
    "orchestration_trigger",
    "route",
    "schedule",
    "warm_up_trigger",
];

/// Checks slugs, references and entry points. Every fault stops the app.
pub(super) fn check(files: &[AgentFile], inventory: &Inventory, findings: &mut Diagnostics) {
    check_slugs(files, findings);
    let slugs: HashSet<_> = files.iter().map(|file| file.slug.as_str()).collect();
    let referenced: HashSet<_> = files.iter().flat_map(AgentFile::references).map(|(_, slug, _)| slug).collect();
    for file in files {
        check_references(file, &slugs, inventory, findings);
        check_entry_point(file, &referenced, findings);
    }
}

/// Routing of the Functions host ignores letter case, so slugs must differ in more than that.
fn check_slugs(files: &[AgentFile], findings: &mut Diagnostics) {
    let mut by_slug: BTreeMap<String, Vec<&AgentFile>> = BTreeMap::new();
    for file in files {
        by_slug.entry(file.slug.to_ascii_lowercase()).or_default().push(file);
    }
    for same in by_slug.values().filter(|same| same.len() > 1) {
        let names: Vec<_> = same.iter().map(|file| format!("`{}`", file.file())).collect();
        let names = names.join(" and ");
        let first = &same[0].slug;
        let message = if same.iter().all(|file| file.slug == *first) {
            format!("the slug `{first}` belongs to {names}")
        } else {
            format!("the slugs of {names} differ only in letter case, which routes ignore")
        };
        findings.push(
            Diagnostic::new(Severity::Error, Code::DuplicateSlug, message)
                .in_file(same[1].file())
                .help("rename one of the files"),
        );
    }
}

fn check_references(file: &AgentFile, slugs: &HashSet<&str>, inventory: &Inventory, findings: &mut Diagnostics) {
    let mut seen = HashSet::new();
    for (field, slug, span) in file.references() {
        let delegate = format!("delegate_{slug}");
        // As it is written: a variable's value may be a secret.
        let shown = file.shown(span);
        let fault = if slug == file.slug {
            Some("an agent cannot delegate to itself".to_owned())
        } else if !slugs.contains(slug) {
            Some(format!("there is no agent with the slug `{shown}`"))
        } else if !seen.insert((field, slug)) {
            Some(format!("`{shown}` is listed twice"))
        } else if inventory.mcp_servers.contains(&delegate) {
            Some(format!("an MCP server has the name that the delegate tool of `{shown}` needs"))
        } else {
            None
        };
        if let Some(message) = fault {
            let known: Vec<_> = slugs.iter().filter(|known| **known != file.slug).copied().collect();
            let mut known = known;
            known.sort_unstable();
            let help = if known.is_empty() {
                "remove the reference".to_owned()
            } else {
                format!("remove it, or name one of: {}", known.join(", "))
            };
            findings.push(file.finding(Severity::Error, Code::SubagentReference, span, field, message).help(help));
        }
    }
}

fn check_entry_point(file: &AgentFile, referenced: &HashSet<&str>, findings: &mut Diagnostics) {
    let trigger = file.fields.trigger.as_ref();
    let reachable = trigger.is_some()
        || file.has_classic_endpoint()
        || file.a2a().is_some()
        || referenced.contains(file.slug.as_str());
    if !reachable {
        findings.push(
            file.finding(
                Severity::Error,
                Code::EntryPointMissing,
                &file.start(),
                "trigger",
                "nothing can reach this agent: no trigger, no endpoint, and no other agent refers to it",
            )
            .help("add `builtin_endpoints:` with `a2a:` and its `url:`, or a `trigger:`"),
        );
    }
    if let Some(trigger) = trigger {
        let kind = trigger.value.r#type.value.0.as_str();
        if kind.contains('.') || UNSUPPORTED_TRIGGERS.contains(&kind) {
            let message =
                format!("a trigger of the type `{}` cannot start an agent", file.shown(&trigger.value.r#type.span));
            findings.push(
                file.finding(Severity::Error, Code::TriggerUnsupported, &trigger.span, "trigger.type", message)
                    .help("use a type such as `http_trigger`, `timer_trigger` or `queue_trigger`"),
            );
        }
    }
}
