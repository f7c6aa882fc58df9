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

/// Runs `functions init` where no file can grow, as on a full disk.
fn init_on_a_full_disk(folder: &Path) -> (Option<i32>, String) {
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" functions init --force";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_a2a-functions")]).current_dir(folder).env_clear();
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_write_that_fails_leaves_every_file_as_it_was() {
    let host = r#"{"version": "2.0", "functionTimeout": "00:05:00"}"#;
    let folder = folder(&[("one.agent.md", GOOD), ("host.json", host)]);
    let (status, stderr) = init_on_a_full_disk(folder.path());
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("host.json cannot be written") && stderr.contains("nothing was changed"), "{stderr}");
    assert_eq!(fs::read_to_string(folder.path().join("host.json")).unwrap(), host);
    assert_eq!(entries(folder.path()), ["host.json", "one.agent.md"]);
}

#[test]
fn links_are_not_written_through() {
    let outside = tempfile::tempdir().unwrap();
    for (link, target) in [
        ("host.json", "new.json"),
        ("host.json", "old.json"),
        ("agent_one_a2a_rpc", "."),
        ("agent_one_a2a_rpc/function.json", "new.json"),
    ] {
        let folder = folder(&[("one.agent.md", GOOD)]);
        fs::write(outside.path().join("old.json"), "{}").unwrap();
        fs::create_dir_all(folder.path().join(link).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(outside.path().join(target), folder.path().join(link)).unwrap();
        for arguments in [&["functions", "init"][..], &["functions", "init", "--force"]] {
            let ran = run_in(folder.path(), arguments, &[]);
            assert_eq!((ran.status, ran.stdout.as_str()), (Some(1), ""), "{link}: {}", ran.stderr);
            assert!(ran.stderr.contains("link"), "{link}: {}", ran.stderr);
        }
        assert_eq!(entries(outside.path()), ["old.json"], "{link}");
        assert_eq!(fs::read_to_string(outside.path().join("old.json")).unwrap(), "{}", "{link}");
    }
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let folder = folder(&[("one.agent.md", GOOD)]);
    fs::create_dir(folder.path().join("agent_one_a2a_rpc")).unwrap();
    let pipe = folder.path().join("agent_one_a2a_rpc/function.json");
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let ran = run_in(folder.path(), &["functions", "init", "--force"], &[]);
    assert_eq!(ran.status, Some(1));
    assert!(
        ran.stderr.contains("agent_one_a2a_rpc/function.json cannot be read: it is not a regular file"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_host_json_with_comments_is_completed_and_the_loss_is_said() {
    let host = "\u{feff}{\n  // two\n  \"version\": \"2.0\",\n}";
    let folder = folder(&[("one.agent.md", GOOD), ("host.json", host)]);
    let ran = run_in(folder.path(), &["functions", "init"], &[]);
    assert_eq!(ran.status, Some(1));
    assert!(
        ran.stderr.contains("host.json exists and says something else; its comments would not be kept"),
        "{}",
        ran.stderr
    );
    assert_eq!(fs::read_to_string(folder.path().join("host.json")).unwrap(), host);
    let ran = run_in(folder.path(), &["functions", "init", "--force"], &[]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("warning: the comments of host.json were not kept"), "{}", ran.stderr);
    assert_eq!(json_at(folder.path(), "host.json")["customHandler"]["enableProxyingHttpRequest"], true);
}

#[test]
fn the_layout_of_a_function_json_is_the_users() {
    let folder = folder(&[("one.agent.md", GOOD)]);
    run_in(folder.path(), &["functions", "init"], &[]);
    let file = "agent_one_a2a_rpc/function.json";
    fs::write(folder.path().join(file), json_at(folder.path(), file).to_string()).unwrap();
    let ran = run_in(folder.path(), &["functions", "init"], &[]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains(&format!("unchanged   {file}\n")), "{}", ran.stdout);
}

#[test]
fn another_function_that_opens_an_agent_is_an_error() {
    let folder = folder(&[("one.agent.md", GOOD)]);
    fs::create_dir(folder.path().join("all")).unwrap();
    let trigger = json!({"bindings": [{"type": "httpTrigger", "authLevel": "anonymous", "route": "{*path}"}]});
    fs::write(folder.path().join("all/function.json"), trigger.to_string()).unwrap();
    let ran = run_in(folder.path(), &["functions", "init"], &[]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.stderr.contains("error: all/function.json has authLevel \"anonymous\""), "{}", ran.stderr);
}
