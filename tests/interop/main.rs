//! Independent A2A clients, in the languages of their SDKs, against the app folder behind a Functions host that enforces
//! keys on card and endpoint: each finds the agent by the URL of its card and holds two turns in one context.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot be set up has failed")]

#[path = "../support/azurite.rs"]
mod azurite;
mod client;
#[path = "../support/issuer.rs"]
mod issuer;
mod protected_app;

use client::{AGENT_FRAMEWORK, ClientProgram, Credential, Interface, JS_SDK, PYTHON_SDK};
use issuer::{AUDIENCE, Issuer, Signer, TENANT};
use protected_app::{FUNCTION_KEY, ProtectedApp};

async fn holds_two_turns_in_one_context(program: ClientProgram) {
    let app = ProtectedApp::start("function", &[]).await;
    converses(program, &app, &Credential::FunctionKey(FUNCTION_KEY)).await;
}

async fn holds_two_turns_with_a_token(program: ClientProgram) {
    let signer = Signer::rsa("k1");
    let issuer = Issuer::start(&[&signer]).await;
    let auth = format!("{{mode: entra, entra: {{tenant_id: {TENANT}, allowed_audiences: ['{AUDIENCE}']}}}}");
    let app = ProtectedApp::start(&auth, &[("AZURE_AUTHORITY_HOST", issuer.server.uri())]).await;
    converses(program, &app, &Credential::BearerToken(signer.sign(&issuer.claims()))).await;
}

async fn converses(program: ClientProgram, app: &ProtectedApp, credential: &Credential) {
    let conversation = program.converse(app.card_url(), credential).await;

    let interface = Interface {
        url: app.rpc_url().to_owned(),
        protocol_binding: "JSONRPC".to_owned(),
        protocol_version: "1.0".to_owned(),
    };
    assert_eq!(conversation.client, program.name);
    assert_eq!(conversation.card_url, app.card_url());
    assert_eq!(conversation.interface, interface);
    assert!(!conversation.context_id.is_empty());
    let [first, second] = conversation.replies.as_slice() else {
        panic!("two turns give two replies, not {:?}", conversation.replies);
    };
    // The demo runner counts the turns that the store remembers.
    assert!(first.contains("Turn 1 of this conversation"), "{first}");
    assert!(second.contains("Turn 2 of this conversation"), "{second}");
    assert!(!app.logs().contains(credential.secret()), "the logs hold the credential");
}

#[tokio::test]
async fn the_python_sdk_holds_two_turns_in_one_context() {
    holds_two_turns_in_one_context(PYTHON_SDK).await;
}

#[tokio::test]
async fn microsoft_agent_framework_holds_two_turns_in_one_context() {
    holds_two_turns_in_one_context(AGENT_FRAMEWORK).await;
}

#[tokio::test]
async fn the_javascript_sdk_holds_two_turns_in_one_context() {
    holds_two_turns_in_one_context(JS_SDK).await;
}

#[tokio::test]
async fn the_python_sdk_holds_two_turns_with_a_token() {
    holds_two_turns_with_a_token(PYTHON_SDK).await;
}

#[tokio::test]
async fn microsoft_agent_framework_holds_two_turns_with_a_token() {
    holds_two_turns_with_a_token(AGENT_FRAMEWORK).await;
}

#[tokio::test]
async fn the_javascript_sdk_holds_two_turns_with_a_token() {
    holds_two_turns_with_a_token(JS_SDK).await;
}

#[tokio::test]
async fn a_wrong_key_gets_no_client_as_far_as_the_card() {
    let app = ProtectedApp::start("function", &[]).await;
    for program in [PYTHON_SDK, AGENT_FRAMEWORK, JS_SDK] {
        let output = program.run(app.card_url(), &Credential::FunctionKey("not-the-key")).await;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{} got in with a wrong key", program.name);
        assert!(stderr.contains("401"), "{}: {stderr}", program.name);
    }
}
