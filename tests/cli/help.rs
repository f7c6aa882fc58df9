//! What the program says about itself.

use super::*;

fn help(command: &[&str]) -> String {
    let folder = folder(&[]);
    let ran = run_in(folder.path(), &[command, &["--help"]].concat(), &[]);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{command:?}");
    ran.stdout
}

#[test]
fn every_command_says_what_it_is_for_and_shows_an_example() {
    for command in [&[][..], &["serve"], &["check"], &["agents"], &["functions", "init"]] {
        let text = help(command);
        let example = format!("  a2a-functions {}", command.join(" "));
        assert!(text.contains(&example), "{command:?}: {text}");
        let first = text.lines().next().unwrap();
        assert!(first.len() > 20 && !first.starts_with("Usage"), "{command:?}: {first}");
    }
    assert!(help(&["functions"]).contains("init"));
}

#[test]
fn serve_teaches_where_port_state_keys_and_replies_come_from() {
    // Where lines break depends on the terminal.
    let text = help(&["serve"]).split_whitespace().collect::<Vec<_>>().join(" ");
    for taught in [
        "7071",
        "127.0.0.1",
        "memory, sqlite:PATH or azure-table",
        "A2A_STORE",
        ".a2a/state.sqlite",
        "FUNCTIONS_CUSTOMHANDLER_PORT",
        "A2A_FUNCTION_KEYS",
        "canned replies",
        "Exit status",
    ] {
        assert!(text.contains(taught), "{taught}: {text}");
    }
}

#[test]
fn the_exit_statuses_are_taught_where_scripts_need_them() {
    for command in [&["serve"][..], &["check"], &["functions", "init"]] {
        assert!(help(command).contains("Exit status"), "{command:?}");
    }
}

#[test]
fn a_wrong_store_is_answered_with_the_right_ones() {
    let folder = folder(&[("one.agent.md", GOOD)]);
    let ran = run_in(folder.path(), &["serve", "--store", "redis"], &[]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("memory, sqlite:PATH or azure-table"), "{}", ran.stderr);
}

#[test]
fn no_command_is_answered_with_the_first_steps() {
    let ran = run_in(folder(&[]).path(), &[], &[]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("a2a-functions serve examples/incident-triage"), "{}", ran.stderr);
}
