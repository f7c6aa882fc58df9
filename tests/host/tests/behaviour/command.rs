//! The host as a command.

use std::{fs, path::Path, process::Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

use crate::support::{App, ECHO, PATIENCE, Seen, catch_all, ended, get};

struct Started {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    base_url: String,
}

impl Started {
    /// Starts the command on a free port and waits until it listens.
    async fn new(app_root: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_functions-test-host"))
            .args(["--port", "0", "--executable", ECHO, "--app-root"])
            .arg(app_root)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().unwrap();
        let base_url = first.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
        Self { child, lines, base_url }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.child.id().unwrap().try_into().unwrap()).unwrap(), signal).unwrap();
    }

    /// Waits for the end and returns the exit code and what was printed to standard error.
    async fn end(mut self) -> (Option<i32>, String) {
        let output = async {
            while self.lines.next_line().await.unwrap().is_some() {}
            self.child.wait_with_output().await.unwrap()
        };
        let output = timeout(PATIENCE, output).await.unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

async fn handler_of(host: &Started) -> u32 {
    let seen = Seen::from(get(&host.base_url).await).await;
    seen.0["pid"].as_u64().unwrap().try_into().unwrap()
}

#[tokio::test]
async fn a_signal_ends_the_command_and_the_handler() {
    for (signal, code) in [(Signal::TERM, Some(0)), (Signal::INT, Some(0)), (Signal::KILL, None)] {
        let app = catch_all();
        let host = Started::new(app.path(), &[]).await;
        let handler = handler_of(&host).await;
        host.signal(signal);
        assert_eq!(host.end().await.0, code, "{signal:?}");
        ended(handler).await;
    }
}

#[tokio::test]
async fn a_handler_that_keeps_failing_ends_the_command_with_a_failure() {
    let app = App::with_arguments(&["--stderr", "no-luck", "--exit", "3"]);
    let host = Started::new(app.path(), &[]).await;
    let (code, stderr) = host.end().await;
    assert_eq!(code, Some(1));
    assert!(stderr.contains("exited with code 3") && stderr.contains("no-luck"), "{stderr}");
}

#[tokio::test]
async fn settings_keys_and_copies_come_from_the_command_line() {
    let app = App::new(serde_json::json!({})).http("closed", "{*rest}", "function");
    let keys = app.path().join("keys.json");
    fs::write(&keys, r#"{"host": {"default": "k"}}"#).unwrap();
    let arguments =
        ["--profile", "azure", "--keys", keys.to_str().unwrap(), "--copies", "2", "--set", "ECHO_SETTING=a=b"];
    let mut host = Started::new(app.path(), &arguments).await;
    assert_eq!(get(&host.base_url).await.status(), 401);
    let mut pids = std::collections::BTreeSet::new();
    for _ in 0..2 {
        let seen = Seen::from(get(format!("{}/?code=k", host.base_url)).await).await;
        assert_eq!(seen.variable("ECHO_SETTING"), "a=b");
        pids.insert(seen.0["pid"].as_u64().unwrap());
    }
    assert_eq!(pids.len(), 2);
    let printed = timeout(PATIENCE, host.lines.next_line()).await.unwrap().unwrap().unwrap();
    assert!(printed.contains("Stdout] arguments []"), "{printed}");
}

#[tokio::test]
async fn a_broken_app_is_named() {
    let folder = tempfile::TempDir::new().unwrap();
    let command = Command::new(env!("CARGO_BIN_EXE_functions-test-host"))
        .args(["--port", "0", "--app-root"])
        .arg(folder.path())
        .output();
    let output = timeout(PATIENCE, command).await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("cannot read") && stderr.contains("host.json"), "{stderr}");
}
