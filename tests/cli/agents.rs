//! `a2a-functions agents`.

use std::process::Stdio;

use serde_json::{Value, json};

use super::*;

const HOST: &str = r#"{"version": "2.0", "extensions": {"http": {"routePrefix": "api"}}}"#;

#[test]
fn agents_are_listed_with_their_routes_and_addresses() {
    let folder = folder(&[("one.agent.md", GOOD)]);
    let ran = run_in(folder.path(), &["agents"], &[]);
    let expected = "\
one  One
  file      one.agent.md
  auth      function
  model     left to the provider
  context   principal
  wait      10 s
  endpoint  POST /agents/one/a2a
  card      GET  /agents/one/.well-known/agent-card.json
  url       https://example.com/agents/one/a2a
  card url  https://example.com/agents/one/.well-known/agent-card.json

";
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), expected, ""));
}

#[test]
fn json_lists_the_same() {
    let chat = "---\nname: Two\ndescription: Second.\nmodel: gpt\ntimeout: 5\nbuiltin_endpoints: true\n---\n";
    let folder = folder(&[("one.agent.md", GOOD), ("two.agent.md", chat)]);
    let ran = run_in(folder.path(), &["agents", "--json"], &[]);
    let expected = json!({"agents": [
        {
            "slug": "one", "name": "One", "description": "Does one thing.", "file": "one.agent.md",
            "model": null, "timeout_seconds": 900.0, "http_auth": "function",
            "a2a": {
                "url": "https://example.com/agents/one/a2a",
                "card_url": "https://example.com/agents/one/.well-known/agent-card.json",
                "route": "/agents/one/a2a",
                "card_route": "/agents/one/.well-known/agent-card.json",
                "context": "principal",
                "context_wait_seconds": 10.0,
            },
        },
        {
            "slug": "two", "name": "Two", "description": "Second.", "file": "two.agent.md",
            "model": "gpt", "timeout_seconds": 5.0, "http_auth": "function", "a2a": null,
        },
    ]});
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), expected);
    assert_eq!(ran.status, Some(0));
}

#[test]
fn an_address_with_another_path_than_the_route_is_listed_with_a_warning() {
    let folder = folder(&[("host.json", HOST), ("one.agent.md", GOOD)]);
    let ran = run_in(folder.path(), &["agents"], &[]);
    assert!(ran.stdout.contains("POST /api/agents/one/a2a"), "{}", ran.stdout);
    assert!(ran.stderr.contains("A2F0402") && ran.stderr.contains("`/api/agents/one/a2a`"), "{}", ran.stderr);
    assert_eq!(ran.status, Some(0));
}

#[test]
fn a_gateway_with_paths_of_its_own_leaves_the_card_address_open() {
    let folder = folder(&[("one.agent.md", &GOOD.replace("/agents/one/a2a", "/ops"))]);
    let ran = run_in(folder.path(), &["agents", "--json"], &[]);
    let listed: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(listed["agents"][0]["a2a"]["card_url"], Value::Null);
}

#[test]
fn a_folder_that_cannot_start_is_not_listed() {
    let folder = folder(&[("one.agent.md", GOOD), ("One.agent.md", GOOD)]);
    let ran = run_in(folder.path(), &["agents"], &[]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains("A2F0301"), "{}", ran.stderr);
}

#[test]
fn names_cannot_rule_the_terminal() {
    let folder = folder(&[("one.agent.md", &GOOD.replace("name: One", r#"name: "One\e[31m""#))]);
    let ran = run_in(folder.path(), &["agents"], &[]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(!ran.stdout.contains('\u{1b}'));
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure_and_a_reader_that_has_gone_is_none() {
    let folder = folder(&[("one.agent.md", GOOD)]);
    let run = |stdout: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_a2a-functions"));
        command.args(["agents", "--json"]).current_dir(folder.path()).env_clear().stdout(stdout);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (status, stderr) = run(fs::OpenOptions::new().write(true).open("/dev/full").unwrap().into());
    assert_eq!(status, Some(2));
    assert!(stderr.contains("error: the result cannot be written: "), "{stderr}");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(run(writer.into()), (Some(0), String::new()));
}
