//! An app folder made a Functions app by `a2a-functions functions init`, running under the host.

use std::fs;
use std::path::Path;
use std::process::Command;

use functions_test_host::{Builder, FunctionsHost, HttpMode, Keys, Profile};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::Call;

const BINARY: &str = env!("CARGO_BIN_EXE_a2a-functions");
/// Two keys of the host, a key of one function, and the master key.
pub(crate) const KEY: &str = "host-key-of-the-first-caller";
pub(crate) const OTHER_KEY: &str = "host-key-of-the-second-caller";
pub(crate) const FUNCTION_KEY: &str = "key-of-the-endpoint-alone";
pub(crate) const MASTER: &str = "master-key-of-the-app";

/// The file of the agent `main`, its address taken from the host's name.
pub(crate) fn agent(http_auth: &str, prefix: &str) -> String {
    let url = format!("http://%WEBSITE_HOSTNAME%{prefix}/agents/main/a2a");
    format!(
        "---\nname: Main\ndescription: Helps.\nbuiltin_endpoints:\n  a2a: {{url: \"{url}\"}}\n  http_auth: {http_auth}\n---\nHelp.\n"
    )
}

/// A folder that is not running yet.
#[derive(Debug)]
pub(crate) struct App {
    folder: TempDir,
    prefix: String,
}

/// A running app; dropping it ends all of its processes.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) host: FunctionsHost,
    prefix: String,
    _folder: TempDir,
}

impl App {
    /// An app without a route prefix, as `functions init` makes it.
    pub(crate) fn new(http_auth: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("main.agent.md"), agent(http_auth, "")).unwrap();
        init(folder.path(), &[]);
        Self { folder, prefix: String::new() }
    }

    /// An app whose `host.json` was there before and leaves the prefix to the host: `/api`.
    pub(crate) fn with_default_prefix(http_auth: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("main.agent.md"), agent(http_auth, "/api")).unwrap();
        fs::write(folder.path().join("host.json"), r#"{"version": "2.0"}"#).unwrap();
        init(folder.path(), &["--force"]);
        Self { folder, prefix: "/api".to_owned() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Has the host rebuild requests instead of passing them through.
    pub(crate) fn mode(self, mode: HttpMode) -> Self {
        let file = self.path().join("host.json");
        let mut document: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        document["customHandler"]["enableProxyingHttpRequest"] = json!(mode == HttpMode::Proxy);
        fs::write(file, document.to_string()).unwrap();
        self
    }

    /// A host that enforces keys, with an environment of its own; the state is in a file.
    pub(crate) fn host(&self) -> Builder {
        let store = format!("sqlite:{}", self.path().join("state.sqlite").display());
        let named = |name: &str, key: &str| (name.to_owned(), key.to_owned());
        FunctionsHost::builder(self.path())
            .executable_override(BINARY)
            .without_inherited_env()
            .env("AZURE_FUNCTIONS_AGENTS_PROVIDER", "demo")
            .env("A2A_STORE", store)
            .profile(Profile::Azure)
            .keys(Keys {
                master: Some(MASTER.to_owned()),
                host: [named("default", KEY), named("other", OTHER_KEY)].into(),
                functions: [("agent_main_a2a_rpc".to_owned(), [named("own", FUNCTION_KEY)].into())].into(),
                ..Keys::default()
            })
    }

    /// Starts such a host, changed, and waits for the handler.
    pub(crate) async fn start(self, change: impl FnOnce(Builder) -> Builder) -> Running {
        let host = change(self.host()).start().await.unwrap();
        assert!(host.function_errors().is_empty(), "{:?}", host.function_errors());
        let running = Running { host, prefix: self.prefix, _folder: self.folder };
        if let Err(error) = running.host.ready().await {
            panic!("{error}\n{}", running.logs());
        }
        running
    }
}

/// Sets the folder up with the product's own command.
fn init(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new(BINARY);
    // The host's name is not known before the app runs.
    command.args(["functions", "init"]).arg(folder).args(arguments).env("WEBSITE_HOSTNAME", "localhost:7071");
    let output = command.output().unwrap();
    assert!(output.status.success(), "functions init: {}", String::from_utf8_lossy(&output.stderr));
}

impl Running {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{}{path}", self.host.base_url(), self.prefix)
    }

    /// A good call of the endpoint by the first caller.
    pub(crate) fn call(&self) -> Call {
        self.call_without_key().set("x-functions-key", KEY)
    }

    pub(crate) fn call_without_key(&self) -> Call {
        Call::post(self.url("/agents/main/a2a"))
    }

    pub(crate) fn get(&self, path: &str) -> Call {
        Call::get(self.url(path)).set("x-functions-key", KEY)
    }

    /// What handlers and host have written so far.
    pub(crate) fn logs(&self) -> String {
        self.host.logs().iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
    }
}
