//! The client programs in other languages: how one is run, and what it reports of its conversation.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use serde::Deserialize;
use tokio::process::Command;
use tokio::time::timeout;

/// Longest run of a client: two turns and the start of its interpreter, on a busy machine.
const RUN_LIMIT: Duration = Duration::from_secs(120);

/// A client program and the interpreter, with the pinned dependencies, that runs it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientProgram {
    pub(crate) name: &'static str,
    interpreter: &'static str,
    script: &'static str,
    dependencies: &'static str,
}

pub(crate) const PYTHON_SDK: ClientProgram = ClientProgram {
    name: "python-sdk",
    interpreter: ".test-deps/venv-python-sdk/bin/python",
    script: "tests/interop/python-sdk/client.py",
    dependencies: ".test-deps/venv-python-sdk/installed.stamp",
};

pub(crate) const AGENT_FRAMEWORK: ClientProgram = ClientProgram {
    name: "agent-framework",
    interpreter: ".test-deps/venv-agent-framework/bin/python",
    script: "tests/interop/agent-framework/client.py",
    dependencies: ".test-deps/venv-agent-framework/installed.stamp",
};

pub(crate) const JS_SDK: ClientProgram = ClientProgram {
    name: "js-sdk",
    interpreter: "node",
    script: "tests/interop/js-sdk/client.mjs",
    dependencies: "tests/interop/js-sdk/node_modules/installed.stamp",
};

/// What a client prints after both turns.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Conversation {
    pub(crate) client: String,
    pub(crate) card_url: String,
    pub(crate) interface: Interface,
    pub(crate) context_id: String,
    pub(crate) replies: Vec<String>,
}

/// The interface that the client picked from the card.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Interface {
    pub(crate) url: String,
    pub(crate) protocol_binding: String,
    pub(crate) protocol_version: String,
}

/// What opens card and endpoint.
#[derive(Debug, Clone)]
pub(crate) enum Credential {
    FunctionKey(&'static str),
    BearerToken(String),
}

impl Credential {
    fn option(&self) -> [&str; 2] {
        match self {
            Self::FunctionKey(key) => ["--function-key", key],
            Self::BearerToken(token) => ["--bearer-token", token],
        }
    }

    pub(crate) fn secret(&self) -> &str {
        self.option()[1]
    }
}

impl ClientProgram {
    /// Lets the client hold its two turns, after it has seen that card and endpoint are closed without the credential.
    pub(crate) async fn converse(&self, card_url: &str, credential: &Credential) -> Conversation {
        let output = self.run(card_url, credential).await;
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{} failed: {}{stdout}", self.name, String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{}: {error} in {stdout}", self.name))
    }

    /// Runs the client to its end, whatever that is.
    pub(crate) async fn run(&self, card_url: &str, credential: &Credential) -> Output {
        assert!(
            in_repository(self.dependencies).is_file(),
            "the dependencies of the client {} are not installed; `./test` installs them",
            self.name
        );
        let child = Command::new(self.interpreter())
            .arg(in_repository(self.script))
            .args(["--card-url", card_url, "--expect-protected", "--json-output"])
            .args(credential.option())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        timeout(RUN_LIMIT, child)
            .await
            .unwrap_or_else(|_| panic!("{} is not done after {RUN_LIMIT:?}", self.name))
            .unwrap_or_else(|error| panic!("{} does not start: {error}", self.interpreter))
    }

    /// A bare name is looked up on the search path, anything else is a file of the repository.
    fn interpreter(&self) -> PathBuf {
        let bare = Path::new(self.interpreter).components().count() == 1;
        if bare { PathBuf::from(self.interpreter) } else { in_repository(self.interpreter) }
    }
}

/// A path relative to the root of the repository, made absolute.
pub(crate) fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
