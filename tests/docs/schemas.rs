//! The published schemas say the same as the program.

use std::path::{Path, PathBuf};
use std::{env, fs};

use a2a_functions::agents::{app_schema, front_matter_schema, load};
use a2a_functions::config::{Environment, Node, Severity, Source, Value as Yaml, parse_yaml};
use jsonschema::Validator;
use serde_json::{Value, json};

/// Front matter in YAML flow style, and whether it is right.
const FRONT_MATTER: [(&str, bool); 22] = [
    ("{name: A, description: B, builtin_endpoints: {a2a: {url: 'https://a.example'}}}", true),
    ("{name: A, description: B, builtin_endpoints: true}", true),
    ("{name: A, description: B, builtin_endpoints: {a2a: {url: 'https://a.example', mode: simple}}}", true),
    ("{name: A, description: B, builtin_endpoints: {a2a: {url: 'https://a.example', context: shared}}}", true),
    ("{name: A, description: B, builtin_endpoints: {chat_api: true, a2a: null, http_auth: null}}", true),
    ("{name: A, description: B, builtin_endpoints: {chat_api: true, http_auth: {mode: admin}}}", true),
    ("{name: A, description: B, trigger: {type: timer_trigger, args: {schedule: x}}}", true),
    ("{name: A, description: B, builtin_endpoints: true, mcp: {exclude: []}, tools: false, timeout: 3}", true),
    ("{name: A, description: B, builtin_endpoints: true, agent_configuration: {max_output_tokens: 5}}", true),
    ("{name: A, description: B, builtin_endpoints: true, metadata: {a: [1, {b: c}]}}", true),
    ("{name: A}", false),
    ("{name: '', description: B, builtin_endpoints: true}", false),
    ("{name: 7, description: B, builtin_endpoints: true}", false),
    ("{name: A, description: B, builtin_endpoints: true, runtime: x}", false),
    ("{name: A, description: B, builtin_endpoints: {a2a: true}}", false),
    ("{name: A, description: B, builtin_endpoints: {a2a: {}}}", false),
    ("{name: A, description: B, builtin_endpoints: {A2A: {url: 'https://a.example'}}}", false),
    ("{name: A, description: B, builtin_endpoints: {a2a: {url: 'https://a.example', mode: durable}}}", false),
    ("{name: A, description: B, builtin_endpoints: {a2a: {url: 'https://a.example', context_wait: 601}}}", false),
    ("{name: A, description: B, builtin_endpoints: {chat_api: true, http_auth: Entra}}", false),
    ("{name: A, description: B, builtin_endpoints: true, agent_configuration: {max_output_tokens: 0}}", false),
    ("{name: A, description: B, builtin_endpoints: true, timeout: 0}", false),
];

/// The same for `agents.config.yaml`.
const APP: [(&str, bool); 10] = [
    ("{}", true),
    ("{model: m, timeout: 5, http_auth: {mode: admin}, tools: {exclude: [x]}}", true),
    ("{system_tools: {web_request: false}}", true),
    ("{system_tools: {web_request: {require_https: true, allowed_hosts: [a.example]}}}", true),
    ("{limits: {executions_per_agent: 1, global_executions: 1000, context_retention_days: 3650}}", true),
    ("{limits: {executions_per_agent: 0}}", false),
    ("{limits: {global_executions: 1001}}", false),
    ("{limits: {executions: 1}}", false),
    ("{http_auth: entraid}", false),
    ("{system_tools: {dynamic_sessions_code_interpreter: {}}}", false),
];

#[test]
fn the_schema_of_front_matter_and_the_program_agree() {
    let schema = validator(&front_matter_schema());
    for (text, right) in FRONT_MATTER {
        assert_eq!(schema.is_valid(&to_json(&parse(text))), right, "schema: {text}");
        let file = ("a.agent.md", format!("---\n{text}\n---\n"));
        assert_eq!(loads(&[file]), right, "program: {text}");
    }
}

#[test]
fn the_schema_of_the_app_settings_and_the_program_agree() {
    let schema = validator(&app_schema());
    for (text, right) in APP {
        assert_eq!(schema.is_valid(&to_json(&parse(text))), right, "schema: {text}");
        let agent = format!("---\n{}\n---\n", FRONT_MATTER[1].0);
        let files = [("a.agent.md", agent), ("agents.config.yaml", text.to_owned())];
        assert_eq!(loads(&files), right, "program: {text}");
    }
}

#[test]
fn the_examples_satisfy_the_schema_and_load_without_a_warning() {
    let schema = validator(&front_matter_schema());
    let examples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut count = 0;
    for folder in fs::read_dir(examples).unwrap() {
        let folder = folder.unwrap().path();
        let loaded = load(&folder, Environment::default());
        assert!(loaded.catalog.is_some(), "{}: {:?}", folder.display(), loaded.diagnostics);
        assert!(loaded.diagnostics.iter().all(|finding| finding.severity == Severity::Note));
        for agent in &loaded.catalog.unwrap().agents {
            let text = fs::read_to_string(folder.join(&agent.source_file)).unwrap();
            let settings = text.split("---\n").nth(1).unwrap();
            let errors: Vec<_> =
                schema.iter_errors(&to_json(&parse(settings))).map(|error| error.to_string()).collect();
            assert_eq!(errors, Vec::<String>::new(), "{}", agent.source_file);
            count += 1;
        }
    }
    assert!(count >= 2, "only {count} agents found");
}

fn validator(schema: &Value) -> Validator {
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    jsonschema::draft202012::new(schema).unwrap()
}

fn parse(text: &str) -> Node {
    let source = Source::new("f.yaml", text);
    parse_yaml(&source, &(0..source.text.len()), Severity::Error).unwrap()
}

fn to_json(node: &Node) -> Value {
    match &node.value {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => json!(value),
        Yaml::Integer(value) => json!(value),
        Yaml::Float(value) => json!(value),
        Yaml::String(value) => json!(value),
        Yaml::List(items) => items.iter().map(to_json).collect(),
        Yaml::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), to_json(&entry.node))).collect(),
    }
}

fn loads(files: &[(&str, String)]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(Path::new(folder.path()).join(name), text).unwrap();
    }
    let loaded = load(folder.path(), Environment::default());
    loaded.catalog.is_some()
}
