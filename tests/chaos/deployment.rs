//! The app under test: the binary in several processes behind one Functions host's address, its state in Azurite.

use std::fs;
use std::process::Command;
use std::time::Duration;

use functions_test_host::{FunctionsHost, Keys, Knobs, Profile};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::azurite::Azurite;
use crate::model;

const BINARY: &str = env!("CARGO_BIN_EXE_a2a-functions");
const KEY: &str = "key-of-the-chaos-tests";
const AGENT: &str = "---
name: Witness
description: Says what it was shown.
builtin_endpoints:
  a2a:
    url: http://localhost:7071/agents/witness/a2a
    context_wait: 3
---
Say what you were shown.
";

/// What came of one request.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The agent's reply.
    Reply(String),
    /// Nothing that a client may not meet when processes die: worth another attempt.
    TryAgain(String),
    /// Something that must never happen.
    Wrong(String),
}

/// A running deployment; dropping it ends all of its processes.
#[derive(Debug)]
pub(crate) struct Deployment {
    host: FunctionsHost,
    client: reqwest::Client,
    _folder: TempDir,
    _storage: Azurite,
}

impl Deployment {
    pub(crate) async fn start(processes: usize) -> Self {
        let storage = Azurite::start().await;
        let model = model::start().await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("witness.agent.md"), AGENT).expect("the agent file is written");
        let init =
            Command::new(BINARY).args(["functions", "init"]).arg(folder.path()).output().expect("the binary runs");
        assert!(init.status.success(), "functions init: {}", String::from_utf8_lossy(&init.stderr));
        let host = FunctionsHost::builder(folder.path())
            .executable_override(BINARY)
            .without_inherited_env()
            .env("OPENAI_BASE_URL", format!("http://{model}/v1"))
            .env("OPENAI_API_KEY", "unused-by-the-witness")
            .env("A2A_OPENAI_API", "chat")
            .env("A2A_CONTEXT_LEASE_SECONDS", "2")
            .env("AzureWebJobsStorage", storage.connection_string())
            .profile(Profile::Azure)
            .keys(Keys { host: [("default".to_owned(), KEY.to_owned())].into(), ..Keys::default() })
            .knobs(Knobs { strike_limit: u32::MAX, ..Knobs::default() })
            .copies(processes)
            .start()
            .await
            .expect("the host starts");
        for copy in 0..processes {
            if let Err(error) = host.ready_copy(copy).await {
                panic!("{error}\n{:?}", host.logs());
            }
        }
        let client = reqwest::Client::builder().timeout(Duration::from_secs(60)).build().expect("a client");
        Self { host, client, _folder: folder, _storage: storage }
    }

    pub(crate) async fn kill(&self, process: usize) {
        self.host.kill_handler(process).await;
    }

    pub(crate) fn logs(&self) -> String {
        self.host.logs().iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// Sends a message whose id and text are `prompt`.
    pub(crate) async fn send(&self, context: &str, prompt: &str) -> Answer {
        let request = json!({ "jsonrpc": "2.0", "id": prompt, "method": "SendMessage", "params": { "message": {
            "messageId": prompt, "contextId": context, "role": "ROLE_USER", "parts": [{ "text": prompt }],
        }}});
        let response = self
            .client
            .post(format!("{}/agents/witness/a2a", self.host.base_url()))
            .header("x-functions-key", KEY)
            .header("a2a-version", "1.0")
            .json(&request)
            .send()
            .await;
        let response = match response {
            Ok(response) => response,
            Err(error) => return Answer::TryAgain(error.to_string()),
        };
        let status = response.status();
        let body = match response.text().await {
            Ok(body) if status == 200 => body,
            // The host's own word for a handler that died under a request.
            Ok(_) if status == 500 || status == 503 => return Answer::TryAgain(format!("the host says {status}")),
            Ok(body) => return Answer::Wrong(format!("{status}: {body}")),
            Err(error) => return Answer::TryAgain(error.to_string()),
        };
        judge(context, prompt, &body)
    }
}

fn judge(context: &str, prompt: &str, body: &str) -> Answer {
    let Ok(body) = serde_json::from_str::<Value>(body) else { return Answer::Wrong(format!("not JSON: {body}")) };
    if body["id"] != prompt {
        return Answer::Wrong(format!("the answer to another request: {body}"));
    }
    if let Some(code) = body["error"]["code"].as_i64() {
        // Busy, or the storage or model connection broke when a process died.
        return if [-32004, -32603].contains(&code) {
            Answer::TryAgain(body["error"].to_string())
        } else {
            Answer::Wrong(body.to_string())
        };
    }
    let message = &body["result"]["message"];
    match message["parts"][0]["text"].as_str() {
        Some(text) if message["contextId"] == context => Answer::Reply(text.to_owned()),
        _ => Answer::Wrong(body.to_string()),
    }
}
