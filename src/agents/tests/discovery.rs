//! Which agents a folder has, and how they may relate.

use super::*;

#[test]
fn an_agent_is_loaded_with_all_that_its_file_says() {
    let loaded = load_with("timeout: 30\nmodel: gpt-4o");
    let agent = only(&loaded);
    assert_eq!((agent.slug.as_str(), agent.name.as_str()), ("one", "One"));
    assert_eq!(agent.description, "Does one thing.");
    assert_eq!(agent.instructions, "You are one.");
    assert_eq!(agent.source_file, "one.agent.md");
    assert_eq!(agent.model.as_deref(), Some("gpt-4o"));
    assert_eq!(agent.a2a.as_ref().unwrap().url, "https://example.com/agents/one/a2a");
    assert_eq!(found(&loaded), []);
}

#[test]
fn c095_files_saved_on_windows_load_the_same() {
    let unix = agent("timeout: 30");
    let windows = format!("\u{feff}{}", unix.replace('\n', "\r\n"));
    let read = |text: &str| only(&load_files(&[("one.agent.md", text)], Environment::default()));
    assert_eq!(read(&unix), read(&windows));
}

#[test]
fn c095_a_blank_line_before_the_front_matter_stops_the_app() {
    let loaded = load_files(&[("one.agent.md", &format!("\n{}", agent("")))], Environment::default());
    assert_eq!(finding(&loaded, Code::FrontMatterLate).severity, Severity::Error);
    assert!(loaded.catalog.is_none());
}

#[test]
fn c096_two_files_with_one_slug_stop_the_app_and_are_both_named() {
    let pairs = [
        ("daily-report.agent.md", "daily_report.agent.md"),
        ("main.agent.md", "agent.md"),
        ("x.agent.md", "x.claude.md"),
        ("x.agent.md", "agents/x.agent.md"),
        ("Foo.agent.md", "foo.agent.md"),
        ("Main.agent.md", "CLAUDE.md"),
    ];
    for (first, second) in pairs {
        let loaded = load_files(&[(first, &agent("")), (second, &agent(""))], Environment::default());
        let finding = finding(&loaded, Code::DuplicateSlug);
        assert_eq!(finding.severity, Severity::Error);
        for name in [first, second] {
            assert!(finding.message.contains(name), "{}", finding.message);
        }
        assert!(loaded.catalog.is_none());
    }
}

#[test]
fn a_broken_agent_is_left_out_and_the_others_load() {
    let files = [("bad.agent.md", "---\nname: [\n---\n"), ("one.agent.md", &agent(""))];
    let loaded = load_files(&files, Environment::default());
    assert_eq!(found(&loaded), [(Severity::Skip, Code::SyntaxInvalid)]);
    assert_eq!(only(&loaded).slug, "one");
}

#[test]
fn a_folder_without_a_usable_agent_does_not_start() {
    let loaded = load_files(&[("README.md", "x")], Environment::default());
    assert_eq!(found(&loaded), [(Severity::Error, Code::NoAgents)]);
    let loaded = load_files(&[("bad.agent.md", "---\nname: A\n---\n")], Environment::default());
    assert_eq!(found(&loaded), [(Severity::Skip, Code::MissingField), (Severity::Error, Code::NoAgents)]);
}

#[test]
fn an_agent_that_nothing_can_reach_stops_the_app() {
    for endpoints in ["", "builtin_endpoints: false", "builtin_endpoints: {}", "builtin_endpoints: {a2a: null}"] {
        let text = format!("---\nname: A\ndescription: B\n{endpoints}\n---\n");
        let loaded = load_files(&[("a.agent.md", &text)], Environment::default());
        assert_eq!(finding(&loaded, Code::EntryPointMissing).severity, Severity::Error, "{endpoints}");
    }
}

#[test]
fn a_trigger_an_endpoint_or_a_reference_is_an_entry_point() {
    let specialist = "---\nname: S\ndescription: S\n---\n";
    let coordinator = "---\nname: C\ndescription: C\nbuiltin_endpoints: true\nsubagents: [{agent: helper}]\n---\n";
    let loaded = load_files(&[("helper.agent.md", specialist), ("c.agent.md", coordinator)], Environment::default());
    assert_eq!(found(&loaded), [(Severity::Warning, Code::NothingServed)]);
    for entry in ["trigger: {type: timer_trigger, args: {schedule: x}}", "builtin_endpoints: {mcp: true}"] {
        let text = format!("---\nname: A\ndescription: B\n{entry}\n---\n");
        let loaded = load_files(&[("a.agent.md", &text)], Environment::default());
        assert_eq!(found(&loaded), [(Severity::Warning, Code::NothingServed)], "{entry}");
    }
}

#[test]
fn trigger_types_that_cannot_start_an_agent_stop_the_app() {
    for kind in ["activity_trigger", "route", "schedule", "warm_up_trigger", "custom.trigger"] {
        let loaded = load_with(&format!("trigger: {{type: {kind}}}"));
        assert_eq!(finding(&loaded, Code::TriggerUnsupported).severity, Severity::Error, "{kind}");
    }
}

#[test]
fn references_to_other_agents_must_be_right() {
    let cases = [
        ("subagents: [{agent: one}]", "itself"),
        ("subagents: [{agent: nobody}]", "no agent"),
        ("subagents: [{agent: two}, {agent: two}]", "twice"),
        ("subagents: [{agent: three}]", "MCP server"),
        ("workflows: {subagents: [{agent: nobody}]}", "no agent"),
    ];
    for (lines, message) in cases {
        let files = [
            ("one.agent.md", agent(lines)),
            ("two.agent.md", agent("mcp: false")),
            ("three.agent.md", agent("mcp: false")),
            ("mcp.json", r#"{"servers": {"delegate_three": {"url": "https://x.example"}}}"#.to_owned()),
        ];
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let loaded = load_files(&files, Environment::default());
        let finding = finding(&loaded, Code::SubagentReference);
        assert!(finding.message.contains(message), "{lines}: {}", finding.message);
        assert_eq!(finding.severity, Severity::Error);
    }
}

#[test]
fn all_problems_of_a_folder_are_reported_at_once() {
    let files = [
        ("agents.config.yaml", "timeout: soon\nlimit: 3\n"),
        ("a.agent.md", "---\nname: A\n---\n"),
        ("b.agent.md", "---\nname: B\ndescription: B\nhttp-auth: function\n---\n"),
        ("c.agent.md", "---\nname: C\ndescription: C\n---\n"),
        ("host.json", "{"),
    ];
    let loaded = load_files(&files, Environment::default());
    let found: Vec<_> = loaded.diagnostics.iter().map(|d| (d.code, d.file.clone().unwrap())).collect();
    let expected = [
        (Code::SyntaxInvalid, "host.json"),
        (Code::UnknownField, "agents.config.yaml"),
        (Code::WrongType, "agents.config.yaml"),
        (Code::MissingField, "a.agent.md"),
        (Code::UnknownField, "b.agent.md"),
        (Code::EntryPointMissing, "c.agent.md"),
    ];
    assert_eq!(found, expected.map(|(code, file)| (code, file.to_owned())));
}
