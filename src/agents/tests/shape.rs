//! Wrong shapes: which are faults, and of which kind.

use super::*;
use crate::config::{render, to_json};

fn shape(lines: &str) -> Vec<(Severity, Code)> {
    let loaded = load_with(lines);
    found(&loaded).into_iter().filter(|(_, code)| *code != Code::NoAgents).collect()
}

#[test]
fn c033_an_agent_without_name_or_description_is_left_out() {
    let cases = [
        ("name: A\n", Code::MissingField, "description"),
        ("description: B\n", Code::MissingField, "name"),
        ("name: A\ndescription: ''\n", Code::Blank, "description"),
        ("name: ' '\ndescription: B\n", Code::Blank, "name"),
        ("name: A\ndescription:\n", Code::WrongType, "description"),
    ];
    for (lines, code, field) in cases {
        let text = format!("---\n{lines}builtin_endpoints: {{a2a: {{url: https://example.com}}}}\n---\n");
        let loaded = load_files(&[("a.agent.md", &text)], Environment::default());
        let finding = finding(&loaded, code);
        assert_eq!((finding.severity, finding.field.as_deref()), (Severity::Skip, Some(field)), "{lines}");
        assert_eq!(finding.file.as_deref(), Some("a.agent.md"));
    }
}

#[test]
fn c097_true_never_means_a2a() {
    let loaded = load_with("builtin_endpoints: true");
    assert_eq!(only(&loaded).a2a, None);
    assert_eq!(found(&loaded), [(Severity::Warning, Code::NothingServed)]);
}

#[test]
fn c097_each_form_of_a2a_has_one_meaning() {
    let left_out = [
        ("true", Code::WrongType),
        ("\"true\"", Code::WrongType),
        ("yes", Code::WrongType),
        ("1", Code::WrongType),
        ("https://example.com", Code::WrongType),
        ("{}", Code::MissingField),
        ("{url: ''}", Code::Blank),
        ("{url: https://example.com, path: x}", Code::UnknownField),
        ("{url: https://example.com, mode: basic}", Code::UnknownChoice),
        ("{url: https://example.com, mode: durable}", Code::ModeNotServed),
        ("{url: https://example.com, context: private}", Code::UnknownChoice),
        ("{url: https://example.com, context_wait: soon}", Code::WrongType),
    ];
    for (form, code) in left_out {
        let lines = format!("builtin_endpoints: {{a2a: {form}}}");
        assert_eq!(shape(&lines), [(Severity::Skip, code)], "{form}");
    }
}

#[test]
fn c097_a_key_in_another_letter_case_is_met_with_the_right_one() {
    let loaded = load_with("builtin_endpoints: {A2A: {url: https://example.com}}");
    let finding = finding(&loaded, Code::UnknownField);
    assert_eq!(finding.severity, Severity::Skip);
    assert_eq!(finding.field.as_deref(), Some("builtin_endpoints.A2A"));
    assert_eq!(finding.help.as_deref(), Some("did you mean `a2a`?"));
}

#[test]
fn c097_quoted_and_bare_words_for_booleans_mean_the_same() {
    for word in ["true", "\"true\"", "yes", "on", "\"1\""] {
        let loaded = load_with(&format!("builtin_endpoints: {{debug_chat_ui: {word}}}"));
        assert!(loaded.diagnostics.iter().any(|finding| finding.code == Code::EndpointNotServed), "{word}");
    }
}

#[test]
fn c100_a_misspelt_auth_mode_never_falls_back_to_a_default() {
    let cases = [
        ("entraid", Severity::Skip, Code::UnknownChoice),
        ("Entra", Severity::Skip, Code::UnknownChoice),
        ("{mode: ''}", Severity::Skip, Code::UnknownChoice),
        ("{entra: {tenant_id: t}}", Severity::Error, Code::EntraWithoutMode),
        ("{mode: function, Entra: {}}", Severity::Skip, Code::UnknownField),
        ("[function]", Severity::Skip, Code::WrongType),
    ];
    for (auth, severity, code) in cases {
        let lines =
            format!("builtin_endpoints: {{a2a: {{url: https://example.com/agents/one/a2a}}, http_auth: {auth}}}");
        let loaded = load_with(&lines);
        assert_eq!(finding(&loaded, code).severity, severity, "{auth}");
        assert!(loaded.catalog.is_none(), "{auth}");
    }
}

#[test]
fn c100_a_misspelt_auth_mode_of_the_app_stops_the_app() {
    for auth in ["entraid", "Entra", "{mode: ''}", "{entra: {}}"] {
        let config = format!("http_auth: {auth}");
        let files = [("agents.config.yaml", config.as_str()), ("one.agent.md", &agent(""))];
        let loaded = load_files(&files, Environment::default());
        assert_eq!(loaded.diagnostics.summary().errors, 1, "{auth}: {:?}", loaded.diagnostics);
        assert!(loaded.catalog.is_none());
    }
}

#[test]
fn fields_that_do_not_exist_leave_the_agent_out() {
    for field in ["debug", "runtime", "auth", "instructions_file"] {
        assert_eq!(shape(&format!("{field}: x")), [(Severity::Skip, Code::UnknownField)], "{field}");
    }
}

#[test]
fn settings_of_the_app_with_a_fault_stop_the_app() {
    let cases = [
        ("models: x", Code::UnknownField),
        ("- a", Code::WrongType),
        ("a: [", Code::SyntaxInvalid),
        ("timeout: -1", Code::OutOfRange),
        ("limits: {executions_per_agent: 0}", Code::OutOfRange),
        ("limits: {global_executions: 1001}", Code::OutOfRange),
        ("limits: {context_retention_days: 4000}", Code::OutOfRange),
        ("limits: {executions: 1}", Code::UnknownField),
        ("agent_configuration: {max_output_tokens: 0}", Code::OutOfRange),
        ("agent_configuration: {max_output_tokens: true}", Code::WrongType),
    ];
    for (config, code) in cases {
        let loaded =
            load_files(&[("agents.config.yaml", config), ("one.agent.md", &agent(""))], Environment::default());
        assert_eq!(found(&loaded), [(Severity::Error, code)], "{config}");
        assert!(loaded.catalog.is_none());
    }
}

#[test]
fn empty_settings_of_the_app_are_defaults() {
    for config in ["", "# nothing\n", "---\n"] {
        let loaded =
            load_files(&[("agents.config.yaml", config), ("one.agent.md", &agent(""))], Environment::default());
        assert_eq!(found(&loaded), [], "{config:?}");
    }
}

#[test]
fn a_finding_shows_file_line_field_and_remedy() {
    let loaded = load_with("timeout: soon");
    let expected = "\
agent left out[A2F0203]: `timeout` must be a number, found a string `soon`
 --> one.agent.md:7:10
  |
7 | timeout: soon
  |          ^^^^ timeout
  |
  = help: write a number";
    assert_eq!(render(finding(&loaded, Code::WrongType), false), expected);
}

#[test]
fn what_a_file_says_cannot_rule_the_terminal() {
    let loaded = load_with("\"\\e[31mfield\": x\nmcp: {exclude: [\"\\e[31mname\"]}");
    for finding in &loaded.diagnostics {
        assert!(!render(finding, false).contains('\u{1b}'), "{finding:?}");
    }
    assert_eq!(finding(&loaded, Code::UnknownField).severity, Severity::Skip);
}

#[test]
fn no_finding_repeats_the_value_of_a_variable() {
    let lines = [
        "subagents: [{agent: $SECRET}]",
        "subagents: [{agent: $SECRET}, {agent: $SECRET}]",
        "subagents: [{agent: docs}]\nmcp: {exclude: [$SECRET]}",
        "skills: {exclude: [$SECRET]}",
        "tools: $SECRET",
        "trigger: {type: a.$SECRET}",
        "trigger: {type: $SECRET, args: $SECRET}",
        "timeout: $SECRET",
        "timeout: -$NUMBER",
        "logger: $SECRET",
        "workflows: {enabled: $SECRET, subagents: [{agent: $SECRET}]}",
        "agent_configuration: {max_output_tokens: $SECRET}",
        "agent_configuration: $SECRET",
        "builtin_endpoints: {http_auth: $SECRET, a2a: {url: $SECRET, mode: $SECRET}}",
        "builtin_endpoints: {a2a: {url: \"https://example.com/?$SECRET\"}}",
        "builtin_endpoints: {a2a: {url: \"https://example.com/a2a\", context: $SECRET, context_wait: $NUMBER}}",
        "builtin_endpoints: {http_auth: {mode: entra, entra: {tenant_id: $SECRET}}, a2a: {url: \"https://a.example/a2a\"}}",
        "metadata: $SECRET",
    ];
    let environment = Environment::from([("SECRET", "sk-4711-canary"), ("NUMBER", "4711")]);
    let app = "limits: {executions_per_agent: $NUMBER$NUMBER}\ntimeout: -$NUMBER\nmodel: $SECRET";
    for lines in lines {
        let text = agent(lines);
        let files = [("one.agent.md", text.as_str()), ("agents.config.yaml", app)];
        let loaded = load_files(&files, environment.clone());
        for finding in &loaded.diagnostics {
            let rendered = render(finding, false);
            assert!(!rendered.contains("4711"), "{lines}: {rendered}");
        }
        let json = to_json(&loaded.diagnostics).to_string();
        assert!(!json.contains("4711"), "{lines}: {json}");
        assert!(loaded.diagnostics.iter().next().is_some(), "{lines}");
    }
}

#[test]
fn a_text_that_variables_make_too_large_leaves_the_agent_out() {
    let environment = Environment::from([("A", "v".repeat(2048).as_str())]);
    let large = "$A ".repeat(1000);
    let prompt = format!("{}{large}", agent(""));
    let settings = agent(&format!("response_example: {large}"));
    for text in [prompt, settings] {
        let loaded = load_files(&[("one.agent.md", &text)], environment.clone());
        assert_eq!(finding(&loaded, Code::TextTooLarge).severity, Severity::Skip);
    }
}
