//! Starts the pinned OpenAI-compatible server of `tests/model-server` for one test.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running server; it ends with this value, or with the test process.
#[derive(Debug)]
pub(crate) struct ModelServer {
    process: Child,
    url: String,
}

impl ModelServer {
    /// Starts the server on a free loopback port and waits until it listens.
    pub(crate) fn start() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/model-server");
        assert!(
            folder.join("node_modules/@copilotkit/aimock").is_dir(),
            "the model server is not installed; run: npm ci --ignore-scripts --prefix tests/model-server"
        );
        // The pipe to its standard input is what ties the server's life to ours.
        let mut process = Command::new("node")
            .arg(folder.join("server.mjs"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node (20 or later) runs the model server");
        let mut url = String::new();
        BufReader::new(process.stdout.take().expect("a pipe")).read_line(&mut url).expect("the server's address");
        assert!(url.starts_with("http://127.0.0.1:"), "the model server did not start: {url:?}");
        Self { process, url: url.trim_end().to_owned() }
    }

    /// Its address, without a path.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The requests that it has seen, oldest first: `path`, `body`, `response.status` and more.
    pub(crate) async fn journal(&self) -> Vec<serde_json::Value> {
        let url = format!("{}/__aimock/journal", self.url);
        reqwest::get(url).await.expect("a journal").json().await.expect("a JSON journal")
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
