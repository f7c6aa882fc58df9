//! Entra tokens, from the endpoint that Azure gives its hosts to the provider's request.
//!
//! The official client reads the endpoint's address from the environment of its process, so the test runs a child of its
//! own binary with that environment.

use serde_json::json;
use tokio::process::Command;
use wiremock::matchers::{header, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::Provider;
use crate::contract::keeps_the_contract;
use crate::scripted::{Answer, Scripted, end, text};
use crate::{run, turn};

#[tokio::test]
async fn foundry_keeps_the_contract_with_a_token_of_the_managed_identity() {
    let endpoint = MockServer::start().await;
    // 2100-01-01: far enough not to be refreshed.
    let token =
        json!({"access_token": "entra-token", "expires_on": "4102444800", "resource": "r", "token_type": "Bearer"});
    Mock::given(query_param("resource", "https://ai.azure.com"))
        .and(query_param("client_id", "user-assigned"))
        .and(header("x-identity-header", "identity-secret"))
        .respond_with(ResponseTemplate::new(200).set_body_json(token))
        .mount(&endpoint)
        .await;
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "identity::foundry_with_the_identity_of_the_environment", "--ignored", "--nocapture"])
        .env("IDENTITY_ENDPOINT", format!("{}/msi/token", endpoint.uri()))
        .env("IDENTITY_HEADER", "identity-secret")
        .env("AZURE_CLIENT_ID", "user-assigned")
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && output.contains("1 passed"),
        "{output}\n{}",
        String::from_utf8_lossy(&child.stderr)
    );
}

#[tokio::test]
#[ignore = "a child of the test above runs it with an identity in its environment"]
async fn foundry_with_the_identity_of_the_environment() {
    keeps_the_contract(Provider::Foundry).await;

    let server = Scripted::start(vec![Answer::stream(vec![text(false, "ok"), end(false)])]).await;
    assert_eq!(run(&Provider::Foundry.runner(&server.url), turn("hello")).await.text, "ok");
    assert_eq!(server.authorizations(), ["Bearer entra-token"]);
}
