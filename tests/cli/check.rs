//! `a2a-functions check`.

use serde_json::{Value, json};

use super::*;

const BROKEN: &str = "---\nname: Two\ndescription: Second.\ntimeout: soon\n---\n";

#[test]
fn a_good_folder_is_clean() {
    let folder = folder(&[("one.agent.md", GOOD)]);
    let ran = run_in(folder.path(), &["check"], &[]);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), ".: no problems\n", ""));
}

#[test]
fn problems_are_shown_with_their_place_and_remedy() {
    let folder = folder(&[("one.agent.md", GOOD), ("two.agent.md", BROKEN)]);
    let ran = run_in(folder.path(), &["check"], &[]);
    let expected = "\
agent left out[A2F0203]: `timeout` must be a number, found a string `soon`
 --> two.agent.md:4:10
  |
4 | timeout: soon
  |          ^^^^ timeout
  |
  = help: write a number

.: 1 fault that leaves an agent out
";
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (Some(1), expected, ""));
}

#[test]
fn warnings_and_notes_do_not_fail_the_check() {
    let text = GOOD.replace("/agents/one/a2a", "/ops").replace("system_tools: {web_request: false}\n", "");
    let folder = folder(&[("one.agent.md", &text)]);
    let ran = run_in(folder.path(), &["check"], &[]);
    assert_eq!(ran.status, Some(0));
    assert!(ran.stdout.ends_with(".: 1 warning, 1 note\n"), "{}", ran.stdout);
}

#[test]
fn json_has_the_documented_shape() {
    let folder = folder(&[("one.agent.md", GOOD), ("two.agent.md", BROKEN)]);
    let ran = run_in(folder.path(), &["check", "--json"], &[]);
    let expected = json!({
        "diagnostics": [{
            "severity": "skip",
            "code": "A2F0203",
            "file": "two.agent.md",
            "line": 4,
            "column": 10,
            "field": "timeout",
            "message": "`timeout` must be a number, found a string `soon`",
            "help": "write a number",
        }],
        "summary": { "errors": 0, "skipped": 1, "warnings": 0, "notes": 0 },
        "omitted": 0,
    });
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), expected);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(1), ""));
}

#[test]
fn a_folder_that_cannot_be_read_and_a_wrong_option_are_told_apart_from_problems() {
    let folder = folder(&[]);
    let ran = run_in(folder.path(), &["check", "nowhere"], &[]);
    assert_eq!(ran.status, Some(2));
    assert!(ran.stdout.contains("A2F0101"), "{}", ran.stdout);
    let ran = run_in(folder.path(), &["check", "--yaml"], &[]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("--yaml"), "{}", ran.stderr);
}

#[test]
fn the_folder_comes_from_the_argument_the_environment_or_the_working_directory() {
    let (good, empty) = (folder(&[("one.agent.md", GOOD)]), folder(&[]));
    let path = good.path().to_str().unwrap();
    assert_eq!(run_in(empty.path(), &["check", path], &[]).status, Some(0));
    for variable in ["AZURE_FUNCTIONS_AGENTS_APP_ROOT", "AzureWebJobsScriptRoot"] {
        assert_eq!(run_in(empty.path(), &["check"], &[(variable, path)]).status, Some(0), "{variable}");
    }
    assert_eq!(run_in(empty.path(), &["check"], &[]).status, Some(1));
}

#[test]
fn colors_stay_out_of_pipes() {
    let folder = folder(&[("two.agent.md", BROKEN)]);
    let ran = run_in(folder.path(), &["check"], &[("TERM", "xterm-256color"), ("CLICOLOR_FORCE", "1")]);
    assert!(!ran.stdout.contains('\u{1b}'));
}

#[test]
fn secrets_of_the_folder_are_not_printed() {
    let settings = r#"{"Values": {"KEY": "s3cret", "WORSE": ["s3cret"]}}"#;
    let agent = GOOD.replace("https://example.com/agents/one/a2a", "https://s3cret@example.com/?code=s3cret");
    let files = [("local.settings.json", settings), ("one.agent.md", &agent)];
    for arguments in [&["check"][..], &["check", "--json"], &["agents"]] {
        let ran = run_in(folder(&files).path(), arguments, &[]);
        assert!(!ran.stdout.contains("s3cret") && !ran.stderr.contains("s3cret"), "{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.status, Some(1));
    }
}

#[test]
fn a_file_with_very_many_faults_is_checked_in_no_time_and_not_shown_in_full() {
    use std::fmt::Write;
    let mut text = "---\nname: One\ndescription: x\n".to_owned();
    for index in 0..9_000 {
        let _ = writeln!(text, "unknown_field_{index}: {index}");
    }
    text.push_str("---\n");
    let folder = folder(&[("one.agent.md", &text)]);
    let ran = run_in(folder.path(), &["check"], &[]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.stdout.contains("… and 8950 more about one.agent.md"), "{}", ran.stdout);
    assert!(ran.stdout.lines().count() < 1000);
    assert!(ran.stdout.contains("9000 faults"), "{}", ran.stdout);
}

#[test]
fn pipes_in_the_place_of_files_are_not_waited_for() {
    for name in ["host.json", "mcp.json", "local.settings.json", "agents.config.yaml", "two.agent.md"] {
        let folder = folder(&[("one.agent.md", GOOD)]);
        assert!(Command::new("mkfifo").arg(folder.path().join(name)).status().unwrap().success());
        let ran = run_in(folder.path(), &["check"], &[]);
        assert!(ran.stdout.contains("it is not a regular file"), "{name}: {}", ran.stdout);
        fs::remove_file(folder.path().join(name)).unwrap();
        std::os::unix::fs::symlink("nowhere", folder.path().join(name)).unwrap();
        let ran = run_in(folder.path(), &["check"], &[]);
        assert!(ran.stdout.contains("it is a link that leads nowhere"), "{name}: {}", ran.stdout);
    }
}
