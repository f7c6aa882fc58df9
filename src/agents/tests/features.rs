//! Features that this version does not serve.

use super::*;

const MCP: (&str, &str) = ("mcp.json", r#"{"servers": {"docs": {"url": "https://x.example"}}}"#);
const SKILL: (&str, &str) = ("skills/triage/SKILL.md", "---\nname: triage\ndescription: x\n---\n");
const TOOL: (&str, &str) = ("tools/lookup.py", "");
const SANDBOX: (&str, &str) = (
    "agents.config.yaml",
    "system_tools: {dynamic_sessions_code_interpreter: {endpoint: 'https://x.dynamicsessions.io'}}",
);

fn with(file: (&str, &str), lines: &str) -> Loaded {
    load_files(&[file, ("one.agent.md", &agent(lines))], Environment::default())
}

#[test]
fn a_feature_that_is_not_served_stops_the_app_unless_the_agent_does_without() {
    let cases = [
        (MCP, Code::McpNotServed, vec!["mcp: false", "mcp: {exclude: [docs]}"]),
        (SKILL, Code::SkillsNotServed, vec!["skills: false", "skills: {exclude: [triage]}"]),
        (TOOL, Code::PythonToolsNotServed, vec!["tools: false"]),
        (
            SANDBOX,
            Code::SandboxNotServed,
            vec!["tools: false", "system_tools: {dynamic_sessions_code_interpreter: false}"],
        ),
    ];
    for (file, code, remedies) in cases {
        assert_eq!(found(&with(file, "")), [(Severity::Error, code)]);
        for remedy in remedies {
            assert_eq!(found(&with(file, remedy)), [], "{remedy}");
        }
    }
}

#[test]
fn each_feature_has_a_finding_of_its_own() {
    let text = agent("");
    let files = [MCP, SKILL, TOOL, SANDBOX, ("one.agent.md", &text)];
    let found = found(&load_files(&files, Environment::default()));
    let expected = [Code::McpNotServed, Code::SkillsNotServed, Code::PythonToolsNotServed, Code::SandboxNotServed];
    assert_eq!(found, expected.map(|code| (Severity::Error, code)));
}

#[test]
fn subagents_and_workflows_stop_the_app() {
    let other = agent("");
    let coordinator = agent("subagents: [{agent: other}]");
    let files = [("other.agent.md", other.as_str()), ("one.agent.md", &coordinator)];
    let loaded = load_files(&files, Environment::default());
    assert_eq!(finding(&loaded, Code::SubagentsNotServed).severity, Severity::Error);
    let main = agent("workflows: {enabled: true}");
    let loaded = load_files(&[("main.agent.md", &main)], Environment::default());
    assert_eq!(finding(&loaded, Code::WorkflowsNotServed).severity, Severity::Error);
    assert_eq!(found(&load_with("workflows: {enabled: true}")), [], "honoured on the main agent only");
}

#[test]
fn agents_without_an_a2a_endpoint_may_use_what_they_like() {
    let chat = "builtin_endpoints: true";
    for file in [MCP, SKILL, TOOL, SANDBOX] {
        assert_eq!(found(&with(file, chat)), [(Severity::Warning, Code::NothingServed)]);
    }
}

#[test]
fn web_request_is_one_note_for_the_app_and_can_be_turned_off() {
    let loaded = load_files(&[("one.agent.md", &agent("")), ("two.agent.md", &agent(""))], Environment::default());
    let note = finding(&loaded, Code::WebRequestNotServed);
    assert_eq!(note.severity, Severity::Note);
    assert!(note.message.contains("one, two"), "{}", note.message);
    let silent = [
        with(("agents.config.yaml", "system_tools: {web_request: false}"), ""),
        load_with("system_tools: {web_request: false}"),
        load_with("tools: false"),
    ];
    for loaded in silent {
        assert!(loaded.diagnostics.iter().all(|finding| finding.code != Code::WebRequestNotServed));
    }
}

#[test]
fn names_to_leave_out_must_exist_among_mcp_servers_and_should_among_skills() {
    let loaded = with(MCP, "mcp: {exclude: [docs, other]}");
    assert_eq!(found(&loaded), [(Severity::Error, Code::UnknownExclude)]);
    let loaded = with(SKILL, "skills: {exclude: [triage, other]}");
    assert_eq!(found(&loaded), [(Severity::Warning, Code::UnknownExclude)]);
}

#[test]
fn mcp_entries_that_cannot_be_used_are_left_out_with_a_warning() {
    let cases = [
        "{",
        "[]",
        r#"{"mcpServers": {}}"#,
        r#"{"servers": {"a": {"command": "x"}}}"#,
        r#"{"servers": {"a": {"type": "stdio", "url": "https://x.example"}}}"#,
        r#"{"servers": {"a": {"type": "sse", "url": "https://x.example"}}}"#,
        r#"{"servers": {"a": {"url": " "}}}"#,
        r#"{"servers": {"a": "https://x.example"}}"#,
    ];
    for text in cases {
        let found = found(&with(("mcp.json", text), ""));
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(found[0].0, Severity::Warning, "{text}");
    }
}

#[test]
fn skills_need_names_of_their_own() {
    let cases = [
        ("---\ndescription: x\n---\n", Severity::Error, Code::SkillName),
        ("---\nname: Big\n---\n", Severity::Error, Code::SkillName),
        ("---\nname: a--b\n---\n", Severity::Error, Code::SkillName),
        ("---\nname: 7\n---\n", Severity::Error, Code::SkillName),
        ("---\nname: [\n---\n", Severity::Warning, Code::SyntaxInvalid),
        ("no front matter", Severity::Error, Code::FrontMatterMissing),
    ];
    for (text, severity, code) in cases {
        assert_eq!(found(&with(("skills/a/SKILL.md", text), "")), [(severity, code)], "{text}");
    }
    let text = agent("skills: false");
    let files = [SKILL, ("skills/b/SKILL.md", SKILL.1), ("one.agent.md", &text)];
    assert_eq!(found(&load_files(&files, Environment::default())), [(Severity::Error, Code::SkillName)]);
}
