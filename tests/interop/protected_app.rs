//! The app folder behind a Functions host that enforces keys, set up with the product's own command, its state in Azurite.

use std::fs;
use std::path::Path;
use std::process::Command;

use functions_test_host::{FunctionsHost, Keys, LogLine, Profile};
use serde_json::Value;
use tempfile::TempDir;

use crate::azurite::Azurite;
use crate::client::in_repository;

const BINARY: &str = env!("CARGO_BIN_EXE_a2a-functions");
/// Opens card and endpoint; nothing else does.
pub(crate) const FUNCTION_KEY: &str = "key-of-the-interop-tests";

/// A running app; dropping it ends all of its processes.
#[derive(Debug)]
pub(crate) struct ProtectedApp {
    host: FunctionsHost,
    card_url: String,
    rpc_url: String,
    _folder: TempDir,
    _storage: Azurite,
}

impl ProtectedApp {
    /// Starts the app with this `http_auth` and further settings, and waits until it is ready.
    pub(crate) async fn start(http_auth: &str, settings: &[(&str, String)]) -> Self {
        let storage = Azurite::start().await;
        let folder = app_folder(http_auth);
        let prefix = route_prefix(folder.path());
        let mut builder = FunctionsHost::builder(folder.path())
            .executable_override(BINARY)
            .without_inherited_env()
            .env("AZURE_FUNCTIONS_AGENTS_PROVIDER", "demo")
            .env("AzureWebJobsStorage", storage.connection_string())
            // The address is known only when the host listens; the app puts it in as it would in Azure.
            .env("A2A_PUBLIC_URL", format!("http://%WEBSITE_HOSTNAME%{prefix}/agents/main/a2a"))
            .profile(Profile::Azure)
            .keys(Keys { host: [("default".to_owned(), FUNCTION_KEY.to_owned())].into(), ..Keys::default() });
        for (name, value) in settings {
            builder = builder.env(*name, value);
        }
        let host = builder.start().await.expect("the host starts");
        assert!(host.function_errors().is_empty(), "{:?}", host.function_errors());
        if let Err(error) = host.ready().await {
            panic!("{error}\n{}", texts(&host.logs()));
        }
        let agent = format!("{}{prefix}/agents/main", host.base_url());
        Self {
            card_url: format!("{agent}/.well-known/agent-card.json"),
            rpc_url: format!("{agent}/a2a"),
            host,
            _folder: folder,
            _storage: storage,
        }
    }

    pub(crate) fn card_url(&self) -> &str {
        &self.card_url
    }

    pub(crate) fn rpc_url(&self) -> &str {
        &self.rpc_url
    }

    /// The lines that the handler and the host wrote.
    pub(crate) fn logs(&self) -> String {
        texts(&self.host.logs())
    }
}

/// A copy of the app folder with the files that a Functions host needs.
fn app_folder(http_auth: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let agent = fs::read_to_string(in_repository("tests/interop/app/main.agent.md")).expect("the agent file is there");
    let agent = agent.replace("http_auth: function", &format!("http_auth: {http_auth}"));
    fs::write(folder.path().join("main.agent.md"), agent).expect("the agent file is copied");
    let output = Command::new(BINARY)
        .args(["functions", "init"])
        .arg(folder.path())
        // The folders do not depend on the address, but an agent without a usable one is refused.
        .env("A2A_PUBLIC_URL", "https://example.com/agents/main/a2a")
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "functions init: {}", String::from_utf8_lossy(&output.stderr));
    folder
}

/// What stands before every route: `/api` unless host.json says otherwise, or nothing.
fn route_prefix(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join("host.json")).expect("functions init writes host.json");
    let document: Value = serde_json::from_str(&text).expect("host.json is JSON");
    match document.pointer("/extensions/http/routePrefix").and_then(Value::as_str) {
        Some("") => String::new(),
        Some(prefix) => format!("/{prefix}"),
        None => "/api".to_owned(),
    }
}

fn texts(lines: &[LogLine]) -> String {
    lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
}
