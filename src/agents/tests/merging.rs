//! The agent over the app over the environment.

use std::time::Duration;

use super::*;

fn merged(config: &str, lines: &str, environment: Environment) -> Loaded {
    load_files(&[("agents.config.yaml", config), ("one.agent.md", &agent(lines))], environment)
}

#[test]
fn the_model_comes_from_the_agent_the_app_or_the_environment() {
    let cases = [
        ("model: app", "model: own", Some("env"), Some("own")),
        ("model: app", "", Some("env"), Some("app")),
        ("model: app", "model: ''", Some("env"), Some("app")),
        ("", "", Some("env"), Some("env")),
        ("", "", Some(" "), None),
        ("", "", None, None),
    ];
    for (config, lines, variable, expected) in cases {
        let environment: Environment =
            variable.map(|value| ("AZURE_FUNCTIONS_AGENTS_MODEL".to_owned(), value.to_owned())).into_iter().collect();
        let agent = only(&merged(config, lines, environment));
        assert_eq!(agent.model.as_deref(), expected, "{config} / {lines} / {variable:?}");
    }
}

#[test]
fn the_timeout_comes_from_the_agent_the_app_or_the_environment() {
    let cases = [
        ("timeout: 20", "timeout: 10", "30", 10),
        ("timeout: 20", "timeout: '$T'", "30", 7),
        ("timeout: 20", "", "30", 20),
        ("", "", "30", 30),
        ("", "", "soon", 900),
        ("", "", "-1", 900),
        ("", "", "", 900),
    ];
    for (config, lines, variable, expected) in cases {
        let environment = Environment::from([("AZURE_FUNCTIONS_AGENTS_TIMEOUT_SECONDS", variable), ("T", "7")]);
        let loaded = merged(config, lines, environment);
        assert_eq!(only(&loaded).timeout, Duration::from_secs(expected), "{config} / {lines} / {variable}");
        let ignored = found(&loaded) == [(Severity::Warning, Code::VariableIgnored)];
        assert_eq!(ignored, ["soon", "-1"].contains(&variable), "{variable}");
    }
}

#[test]
fn a_timeout_that_no_turn_could_keep_stops_the_app() {
    for timeout in ["0", "-5", "86401", "1e300"] {
        let loaded = load_with(&format!("timeout: {timeout}"));
        assert_eq!(found(&loaded), [(Severity::Error, Code::OutOfRange)], "{timeout}");
    }
}

#[test]
fn token_limits_merge_leaf_by_leaf_and_null_takes_away() {
    let app = "agent_configuration: {max_output_tokens: 100, agent_framework: {compaction: {max_context_window_tokens: 1000}}}";
    let cases = [
        (app, "", Some(100), false),
        (app, "agent_configuration: {max_output_tokens: 200}", Some(200), false),
        (app, "agent_configuration: null", None, false),
        (app, "agent_configuration: {agent_framework: null}", Some(100), false),
        (app, "agent_configuration: {agent_framework: null, max_output_tokens: null}", None, false),
        (app, "agent_configuration: {max_output_tokens: 1000}", None, true),
        (app, "agent_configuration: {max_output_tokens: null}", None, true),
        ("", "agent_configuration: {max_output_tokens: 5}", Some(5), false),
        ("", "", None, false),
    ];
    for (config, lines, expected, stops) in cases {
        let loaded = merged(config, lines, Environment::default());
        if stops {
            assert_eq!(finding(&loaded, Code::TokenLimits).severity, Severity::Error, "{lines}");
        } else {
            assert_eq!(only(&loaded).max_output_tokens, expected, "{config} / {lines}");
        }
    }
}

#[test]
fn limits_of_the_app_are_read_and_noted_as_our_own() {
    let config = "limits: {executions_per_agent: 4, global_executions: 9, context_retention_days: 2}";
    let loaded = merged(config, "", Environment::default());
    let limits = &loaded.catalog.as_ref().unwrap().limits;
    assert_eq!((limits.executions_per_agent, limits.global_executions), (4, Some(9)));
    assert_eq!(limits.context_retention, Duration::from_secs(2 * 24 * 60 * 60));
    assert_eq!(finding(&loaded, Code::OwnField).severity, Severity::Note);
}

#[test]
fn variables_are_replaced_in_front_matter_and_prompt() {
    let text = "---\nname: $N\ndescription: 'for %N%'\nmodel: $M\nbuiltin_endpoints: {a2a: {url: 'https://%H%/x'}}\n---\n$N\n```\n$N\n```\n";
    let environment = || Environment::from([("N", "Nia"), ("M", "gpt"), ("H", "h.example")]);
    let agent = only(&load_files(&[("one.agent.md", text)], environment()));
    assert_eq!((agent.name.as_str(), agent.description.as_str()), ("Nia", "for Nia"));
    assert_eq!(agent.model.as_deref(), Some("gpt"));
    assert_eq!(agent.a2a.as_ref().unwrap().url, "https://h.example/x");
    assert_eq!(agent.instructions, "Nia\n```\n$N\n```");
}

#[test]
fn substitution_can_be_turned_off_for_one_agent() {
    for off in ["false", "'no'", "\"0\""] {
        let loaded = merged("model: $M", &format!("substitute_variables: {off}"), Environment::from([("M", "gpt")]));
        assert_eq!(only(&loaded).model.as_deref(), Some("gpt"), "the app's file is substituted all the same");
        let text = agent(&format!("substitute_variables: {off}\nmodel: $M")).replace("You are one", "You are $M");
        let agent = only(&load_files(&[("one.agent.md", &text)], Environment::from([("M", "gpt")])));
        assert_eq!(agent.model.as_deref(), Some("$M"), "{off}");
        assert_eq!(agent.instructions, "You are $M.");
    }
}

#[test]
fn local_settings_serve_as_environment() {
    let files = [
        ("one.agent.md", agent("model: $M")),
        ("local.settings.json", r#"{"Values": {"M": "from-file", "K": "file"}}"#.to_owned()),
    ];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    let loaded = load_files(&files, Environment::from([("K", "process")]));
    assert_eq!(only(&loaded).model.as_deref(), Some("from-file"));
    assert_eq!(loaded.environment.get("K"), Some("process"));
}

#[test]
fn a_variable_that_is_not_set_gives_a_warning_where_it_matters() {
    let loaded = load_with("model: $FOUNDRY_MODEL\nmetadata: {note: costs $FIVE}");
    assert_eq!(only(&loaded).model.as_deref(), Some("$FOUNDRY_MODEL"));
    let warning = finding(&loaded, Code::VariableUnset);
    assert_eq!((warning.severity, warning.field.as_deref()), (Severity::Warning, Some("model")));
    assert!(warning.message.contains("FOUNDRY_MODEL"));
}

#[test]
fn an_address_with_a_variable_that_is_not_set_stops_the_app() {
    let loaded = load_with("builtin_endpoints: {a2a: {url: 'https://example.com/$NOWHERE/a2a'}}");
    assert_eq!(finding(&loaded, Code::VariableUnset).severity, Severity::Error);
    assert!(loaded.catalog.is_none());
}
