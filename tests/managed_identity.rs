//! State in a table service that takes tokens alone: the program, a managed identity, and an emulator over TLS.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot be set up has failed")]

#[path = "support/azurite.rs"]
mod azurite;

use std::path::Path;
use std::process::Stdio;
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use wiremock::matchers::{header, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use azurite::Azurite;

const AGENT: &str = "---
name: Echo
description: Repeats what it hears.
system_tools: {web_request: false}
builtin_endpoints:
  http_auth: anonymous
  a2a:
    context: shared
    url: http://localhost:7071/agents/main/a2a
---
Repeat what you hear.
";

#[tokio::test]
async fn a_conversation_is_kept_with_the_token_of_a_managed_identity() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.agent.md"), AGENT).unwrap();
    let (certificate, key) = certificate(folder.path());
    let storage = Azurite::start_with(&["--oauth", "basic", "--cert", &certificate, "--key", &key]).await;
    let identity = identity_endpoint().await;

    // Two processes one after the other: what the first has stored, the second reads.
    for turn in 1..=2 {
        let (_server, address) = serve(folder.path(), &certificate, &storage, &identity).await;
        let reply = send(&address, &format!("m{turn}")).await;
        assert!(reply.contains(&format!("Turn {turn} of this conversation")), "{reply}");
    }
}

/// A certificate for loopback that signs itself, and its key: the paths of both.
fn certificate(folder: &Path) -> (String, String) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    (write("loopback.pem", made.cert.pem()), write("loopback.key", made.signing_key.serialize_pem()))
}

/// What Azure gives its hosts: an endpoint that issues tokens to whoever shows the header's secret. Each of the two
/// processes has to ask it once.
async fn identity_endpoint() -> MockServer {
    let server = MockServer::start().await;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let claims = json!({
        "aud": "https://storage.azure.com",
        "iss": "https://sts.windows.net/ab1f708d-50f6-404c-a006-d71b2ac7a606/",
        "iat": now - 60, "nbf": now - 60, "exp": now + 3600,
    });
    let encode = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    // The emulator reads the claims and checks no signature.
    let token = format!("{}.{}.c2ln", encode(json!({ "alg": "RS256", "typ": "JWT" })), encode(claims));
    let answer = json!({
        "access_token": token, "expires_on": (now + 3600).to_string(), "resource": "r", "token_type": "Bearer",
    });
    Mock::given(path("/msi/token"))
        .and(query_param("resource", "https://storage.azure.com"))
        .and(query_param("client_id", "user-assigned"))
        .and(header("x-identity-header", "identity-secret"))
        .respond_with(ResponseTemplate::new(200).set_body_json(answer))
        .expect(2)
        .mount(&server)
        .await;
    server
}

/// Starts the program as an Azure host would, and waits until it listens.
async fn serve(folder: &Path, certificate: &str, storage: &Azurite, identity: &MockServer) -> (Child, String) {
    let mut server = Command::new(env!("CARGO_BIN_EXE_a2a-functions"))
        .args(["serve", "--port", "0", "--store", "azure-table", "--log-format", "json"])
        .arg(folder)
        .env_clear()
        .env("SSL_CERT_FILE", certificate)
        .env("AzureWebJobsStorage__tableServiceUri", storage.table_endpoint())
        .env("AzureWebJobsStorage__clientId", "user-assigned")
        .env("IDENTITY_ENDPOINT", format!("{}/msi/token", identity.uri()))
        .env("IDENTITY_HEADER", "identity-secret")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    loop {
        let line = lines.next_line().await.unwrap().expect("the server says that it is ready");
        let event: Value = serde_json::from_str(&line).unwrap();
        if let (Some("ready"), Some(address)) = (event["message"].as_str(), event["address"].as_str()) {
            let address = address.to_owned();
            // Read on, so that the server never writes into a closed pipe.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return (server, address);
        }
    }
}

async fn send(address: &str, message_id: &str) -> String {
    let message = json!({
        "messageId": message_id, "contextId": "one", "role": "ROLE_USER", "parts": [{ "text": "hello" }],
    });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": { "message": message } });
    let response = reqwest::Client::new()
        .post(format!("http://{address}/agents/main/a2a"))
        .header("a2a-version", "1.0")
        .json(&request)
        .send()
        .await
        .unwrap();
    response.text().await.unwrap()
}
