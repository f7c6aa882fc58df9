//! What agents ask for and this version does not serve: said aloud, never dropped.

use super::agent_file::AgentFile;
use super::app_settings::AppSettings;
use super::authored::Selection;
use super::inventory::Inventory;
use crate::config::{Code, Diagnostic, Diagnostics, Severity, Span, Spanned};

/// Checks one agent. A feature that an A2A conversation would need stops the app; one that only other endpoints use is a note.
pub(super) fn check(file: &AgentFile, app: &AppSettings, inventory: &Inventory, findings: &mut Diagnostics) {
    check_excludes(file, inventory, findings);
    if file.fields.trigger.is_some() || file.has_classic_endpoint() {
        findings.push(
            file.finding(
                Severity::Note,
                Code::EndpointNotServed,
                &file.start(),
                "builtin_endpoints",
                "this program serves the A2A endpoint only: triggers, chat and MCP endpoints stay with the Python runtime",
            )
            .help("add `builtin_endpoints.a2a` if the agent shall be served here"),
        );
    }
    if file.a2a().is_none() {
        return;
    }
    for feature in features(file, app, inventory) {
        findings.push(
            file.finding(Severity::Error, feature.code, &feature.span, feature.field, feature.message)
                .help(feature.help),
        );
    }
}

/// One note for the app, since nearly every agent has the tool without having asked for it.
pub(super) fn web_request_note(files: &[AgentFile], app: &AppSettings) -> Option<Diagnostic> {
    let has_it = |file: &&AgentFile| {
        let own = file.fields.system_tools.as_ref().and_then(|tools| tools.web_request);
        file.a2a().is_some() && own != Some(false) && !has_no_tools(file)
    };
    let slugs: Vec<_> = files.iter().filter(has_it).map(|file| file.slug.as_str()).collect();
    (app.has_web_request && !slugs.is_empty()).then(|| {
        Diagnostic::new(
            Severity::Note,
            Code::WebRequestNotServed,
            format!(
                "the `web_request` tool is on by default, but this version does not offer it to: {}",
                slugs.join(", ")
            ),
        )
        .field("system_tools.web_request")
        .help("write `system_tools: {web_request: false}` to say that the agent does without")
    })
}

struct Feature {
    code: Code,
    span: Span,
    field: &'static str,
    message: String,
    help: &'static str,
}

fn features(file: &AgentFile, app: &AppSettings, inventory: &Inventory) -> Vec<Feature> {
    let fields = &file.fields;
    let named = |names: Vec<&str>| names.join(", ");
    let place = |selection: &Option<Spanned<Selection>>| selection.as_ref().map_or(file.start(), |it| it.span.clone());
    let mut found = Vec::new();
    let servers = selected(fields.mcp.as_ref(), inventory.mcp_servers.iter());
    if !servers.is_empty() {
        found.push(Feature {
            code: Code::McpNotServed,
            span: place(&fields.mcp),
            field: "mcp",
            message: format!("this agent uses MCP servers ({}), which this version does not serve", named(servers)),
            help: "write `mcp: false` to do without them",
        });
    }
    let skills = selected(fields.skills.as_ref(), inventory.skills.iter());
    if !skills.is_empty() {
        found.push(Feature {
            code: Code::SkillsNotServed,
            span: place(&fields.skills),
            field: "skills",
            message: format!("this agent uses skills ({}), which this version does not serve", named(skills)),
            help: "write `skills: false` to do without them",
        });
    }
    if !inventory.python_tools.is_empty() && !has_no_tools(file) {
        let files = inventory.python_tools.iter().map(String::as_str).collect();
        found.push(Feature {
            code: Code::PythonToolsNotServed,
            span: place(&fields.tools),
            field: "tools",
            message: format!("this agent uses Python tools ({}), which this version does not serve", named(files)),
            help: "write `tools: false` to do without them",
        });
    }
    found.extend(delegation(file));
    let opted_out =
        fields.system_tools.as_ref().and_then(|tools| tools.dynamic_sessions_code_interpreter) == Some(false);
    if app.has_sandbox && !opted_out && !has_no_tools(file) {
        found.push(Feature {
            code: Code::SandboxNotServed,
            span: file.start(),
            field: "system_tools.dynamic_sessions_code_interpreter",
            message: "this agent has the code interpreter of `agents.config.yaml`, which this version does not serve"
                .to_owned(),
            help: "write `system_tools: {dynamic_sessions_code_interpreter: false}` to do without it",
        });
    }
    found
}

/// Features that hand work to other agents.
fn delegation(file: &AgentFile) -> Vec<Feature> {
    let mut found = Vec::new();
    let subagents = file.fields.subagents.iter().flatten();
    if let Some(first) = subagents.into_iter().next() {
        found.push(Feature {
            code: Code::SubagentsNotServed,
            span: first.agent.span.clone(),
            field: "subagents",
            message: "this agent delegates to subagents, which this version does not serve".to_owned(),
            help: "remove `subagents`",
        });
    }
    let workflows = file.fields.workflows.as_ref().and_then(|workflows| workflows.enabled.as_ref());
    if let Some(enabled) = workflows.filter(|enabled| enabled.value && file.is_main) {
        found.push(Feature {
            code: Code::WorkflowsNotServed,
            span: enabled.span.clone(),
            field: "workflows.enabled",
            message: "this agent uses workflows, which this version does not serve".to_owned(),
            help: "write `enabled: false`",
        });
    }
    found
}

fn selected<'n>(selection: Option<&Spanned<Selection>>, names: impl Iterator<Item = &'n String>) -> Vec<&'n str> {
    let is_left_out = |name: &str| selection.is_some_and(|selection| selection.value.leaves_out(name));
    names.map(String::as_str).filter(|name| !is_left_out(name)).collect()
}

fn has_no_tools(file: &AgentFile) -> bool {
    let tools = file.fields.tools.as_ref().map(|tools| &tools.value);
    tools == Some(&Selection::Switch(false))
}

/// A name in `mcp.exclude` that is no server stops the app: it may be meant for one that is then not left out.
fn check_excludes(file: &AgentFile, inventory: &Inventory, findings: &mut Diagnostics) {
    let lists = [
        ("mcp.exclude", &file.fields.mcp, &inventory.mcp_servers, Severity::Error),
        ("skills.exclude", &file.fields.skills, &inventory.skills, Severity::Warning),
    ];
    for (field, selection, known, severity) in lists {
        let excluded = selection.iter().flat_map(|selection| selection.value.excluded());
        for name in excluded.filter(|name| !known.contains(&name.value)) {
            let message = format!("there is no `{}` that could be left out", file.shown(&name.span));
            let names: Vec<_> = known.iter().map(String::as_str).collect();
            let help = if names.is_empty() {
                "remove it: this folder has none".to_owned()
            } else {
                format!("remove it, or name one of: {}", names.join(", "))
            };
            findings.push(file.finding(severity, Code::UnknownExclude, &name.span, field, message).help(help));
        }
    }
}
