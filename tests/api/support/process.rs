//! The program as a process of its own.

use std::fs;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::timeout;

use super::PATIENCE;
use crate::client::Call;

/// A folder with these files.
pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// `a2a-functions serve` of a folder. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    pub(crate) stdout: Lines,
    pub(crate) stderr: Lines,
}

impl Program {
    /// Starts the program in an environment of its own.
    pub(crate) fn serve(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_a2a-functions"))
            .arg("serve")
            .arg(folder)
            .args(arguments)
            .env_clear()
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let stdout = Lines::read(child.stdout.take().unwrap());
        let stderr = Lines::read(child.stderr.take().unwrap());
        Self { child, stdout, stderr }
    }

    /// Where the agent `main` is, once the program says so.
    pub(crate) async fn endpoint(&self) -> String {
        let line = self.stderr.wait_for(|line| line.trim_start().starts_with("endpoint ")).await;
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        // The name may lead to another address than the one that the program listens on.
        url.replace("localhost", "127.0.0.1")
    }

    /// A good call of the agent `main` with this key.
    pub(crate) async fn call(&self, key: &str) -> Call {
        Call::post(self.endpoint().await).set("x-functions-key", key)
    }

    /// Asks the program to stop.
    pub(crate) async fn terminate(&self) {
        let id = self.child.id().expect("it runs").to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
    }

    /// Ends the program at once, as a host does.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// Waits until the program has ended and all that it wrote was read.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let status = timeout(PATIENCE, self.child.wait()).await.expect("the program ends").unwrap();
        self.stdout.closed().await;
        self.stderr.closed().await;
        status
    }
}

/// What came out of a stream, line by line.
#[derive(Debug, Clone)]
pub(crate) struct Lines {
    lines: Arc<Mutex<Vec<String>>>,
    /// How many lines there are, and whether more may come.
    state: watch::Receiver<(usize, bool)>,
}

impl Lines {
    fn read(stream: impl AsyncRead + Unpin + Send + 'static) -> Self {
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let (sender, state) = watch::channel((0, false));
        let kept = Arc::clone(&lines);
        tokio::spawn(async move {
            let mut reader = BufReader::new(stream).lines();
            while let Ok(Some(line)) = reader.next_line().await {
                kept.lock().unwrap().push(line);
                sender.send_modify(|(count, _)| *count += 1);
            }
            sender.send_modify(|(_, closed)| *closed = true);
        });
        Self { lines, state }
    }

    /// The first line of a kind, old or new.
    pub(crate) async fn wait_for(&self, wanted: impl Fn(&str) -> bool) -> String {
        let mut state = self.state.clone();
        let search = async {
            loop {
                let (_, closed) = *state.borrow_and_update();
                if let Some(line) = self.all().into_iter().find(|line| wanted(line)) {
                    return line;
                }
                assert!(!closed, "the line never came: {}", self.text());
                state.changed().await.unwrap();
            }
        };
        timeout(PATIENCE, search).await.unwrap_or_else(|_| panic!("the line did not come: {}", self.text()))
    }

    async fn closed(&self) {
        let mut state = self.state.clone();
        let closed = state.wait_for(|(_, closed)| *closed);
        timeout(PATIENCE, closed).await.expect("the stream ends").unwrap();
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    pub(crate) fn text(&self) -> String {
        self.all().join("\n")
    }
}
