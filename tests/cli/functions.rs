//! `a2a-functions functions init`.

use std::path::Path;

use serde_json::{Value, json};

use super::*;

const FUNCTIONS: [&str; 4] = ["a2a_root_card", "agent_one_a2a_card", "agent_one_a2a_rpc", "agent_one_a2a_rpc_card"];

fn json_at(folder: &Path, path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join(path)).unwrap()).unwrap()
}

/// Names of the folder's entries, in order.
fn entries(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn a_folder_becomes_a_functions_app() {
    let folder = folder(&[("one.agent.md", GOOD)]);
    let ran = run_in(folder.path(), &["functions", "init"], &[]);
    let expected = "\
created     host.json
created     agent_one_a2a_card/function.json
created     agent_one_a2a_rpc/function.json
created     agent_one_a2a_rpc_card/function.json
created     a2a_root_card/function.json
";
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), expected, ""));
    let host = json_at(folder.path(), "host.json");
    assert_eq!(host["customHandler"]["description"]["arguments"], json!(["serve"]));
    assert_eq!(host["customHandler"]["enableProxyingHttpRequest"], true);
    for function in FUNCTIONS {
        let trigger = &json_at(folder.path(), &format!("{function}/function.json"))["bindings"][0];
        assert_eq!(
            (&trigger["type"], &trigger["authLevel"]),
            (&json!("httpTrigger"), &json!("function")),
            "{function}"
        );
        assert!(!trigger["route"].as_str().unwrap().contains("SLUG"), "{function}");
    }
}

#[test]
fn the_host_is_told_to_ask_for_what_the_agents_ask_for() {
    for (auth, level) in [("function", "function"), ("admin", "admin"), ("anonymous", "anonymous")] {
        let agent = GOOD.replace("builtin_endpoints:\n", &format!("builtin_endpoints:\n  http_auth: {auth}\n"));
        let folder = folder(&[("one.agent.md", &agent)]);
        assert_eq!(run_in(folder.path(), &["functions", "init"], &[]).status, Some(0), "{auth}");
        for function in FUNCTIONS {
            let trigger = &json_at(folder.path(), &format!("{function}/function.json"))["bindings"][0];
            assert_eq!(trigger["authLevel"], level, "{auth} {function}");
        }
    }
}

#[test]
fn a_second_run_changes_nothing() {
    let folder = folder(&[("one.agent.md", GOOD)]);
    run_in(folder.path(), &["functions", "init"], &[]);
    let ran = run_in(folder.path(), &["functions", "init"], &[]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.lines().all(|line| line.starts_with("unchanged ")), "{}", ran.stdout);
}

#[test]
fn a_file_that_says_something_else_is_overwritten_on_demand_only() {
    let mine = "{\"bindings\": []}\n";
    let folder = folder(&[("one.agent.md", GOOD)]);
    let file = folder.path().join("agent_one_a2a_rpc/function.json");
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::write(&file, mine).unwrap();

    let ran = run_in(folder.path(), &["functions", "init"], &[]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains("agent_one_a2a_rpc/function.json exists and says something else"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--force"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), mine);
    assert_eq!(entries(folder.path()), ["agent_one_a2a_rpc", "one.agent.md"], "nothing else was written either");

    let ran = run_in(folder.path(), &["functions", "init", "--force"], &[]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("overwritten agent_one_a2a_rpc/function.json\n"), "{}", ran.stdout);
    assert_eq!(json_at(folder.path(), "agent_one_a2a_rpc/function.json")["bindings"][0]["route"], "agents/one/a2a");
}

#[test]
fn a_host_json_keeps_what_the_app_has_set() {
    let host = r#"{"version": "2.0", "extensions": {"http": {"routePrefix": "v1"}}, "functionTimeout": "00:05:00"}"#;
    let folder = folder(&[("one.agent.md", GOOD), ("host.json", host)]);
    assert_eq!(run_in(folder.path(), &["functions", "init"], &[]).status, Some(1));
    let ran = run_in(folder.path(), &["functions", "init", "--force"], &[]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let host = json_at(folder.path(), "host.json");
    assert_eq!(host["extensions"]["http"]["routePrefix"], "v1");
    assert_eq!(host["functionTimeout"], "00:05:00");
    assert_eq!(host["customHandler"]["description"]["defaultExecutablePath"], "a2a-functions");
}

#[test]
fn json_lists_the_files_and_what_was_done() {
    let folder = folder(&[("one.agent.md", GOOD)]);
    run_in(folder.path(), &["functions", "init"], &[]);
    fs::remove_file(folder.path().join("host.json")).unwrap();
    let ran = run_in(folder.path(), &["functions", "init", "--json"], &[]);
    let expected = json!({"files": [
        {"path": "host.json", "action": "created"},
        {"path": "agent_one_a2a_card/function.json", "action": "unchanged"},
        {"path": "agent_one_a2a_rpc/function.json", "action": "unchanged"},
        {"path": "agent_one_a2a_rpc_card/function.json", "action": "unchanged"},
        {"path": "a2a_root_card/function.json", "action": "unchanged"},
    ]});
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), expected);
    assert_eq!(ran.status, Some(0));
}

#[test]
fn folders_of_agents_that_are_gone_are_named() {
    let folder = folder(&[("one.agent.md", GOOD)]);
    run_in(folder.path(), &["functions", "init"], &[]);
    fs::rename(folder.path().join("one.agent.md"), folder.path().join("two.agent.md")).unwrap();
    let ran = run_in(folder.path(), &["functions", "init"], &[]);
    // The root card is the same for whichever agent is the only one.
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    for function in &FUNCTIONS[1..] {
        assert!(ran.stderr.contains(&format!("the folder {function} belongs to no agent")), "{}", ran.stderr);
    }
}

#[test]
fn a_folder_that_cannot_start_gets_no_files() {
    let broken = folder(&[("one.agent.md", GOOD), ("One.agent.md", GOOD)]);
    let ran = run_in(broken.path(), &["functions", "init"], &[]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(1), ""));
    assert_eq!(entries(broken.path()), ["One.agent.md", "one.agent.md"]);
    let ran = run_in(broken.path(), &["functions", "init", "nowhere"], &[]);
    assert_eq!(ran.status, Some(2), "{}", ran.stderr);
}

#[test]
fn the_examples_are_complete_but_for_the_function_folders() {
    for example in ["echo", "incident-triage"] {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(example);
        let folder = folder(&[]);
        for name in entries(&source).iter().filter(|name| source.join(name).is_file()) {
            fs::copy(source.join(name), folder.path().join(name)).unwrap();
        }
        let ran = run_in(folder.path(), &["functions", "init"], &[]);
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.starts_with("unchanged   host.json\n"), "{}", ran.stdout);
    }
}

#[test]
fn an_address_with_the_name_of_the_host_needs_no_host() {
    let agent = GOOD.replace("https://example.com", "https://%WEBSITE_HOSTNAME%");
    let folder = folder(&[("one.agent.md", &agent)]);
    let ran = run_in(folder.path(), &["functions", "init"], &[]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
}
