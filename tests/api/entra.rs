//! Agents behind Microsoft Entra ID: which token opens card and endpoint, as whom, and what a refused caller is told.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::client::{Call, Reply};
use crate::issuer::{AUDIENCE, Issuer, Signer, TENANT};
use crate::support::{App, KEY, Server, agent, witnessed};

const CARD: &str = "/agents/main/.well-known/agent-card.json";

/// An agent for tokens of the issuer, with further settings.
fn app(issuer: &Issuer, settings: &str) -> App {
    let separator = if settings.is_empty() { "" } else { ", " };
    let auth = format!(
        "{{mode: entra, entra: {{tenant_id: {TENANT}, allowed_audiences: ['{AUDIENCE}']{separator}{settings}}}}}"
    );
    App::of(&agent(&auth, "")).variable("AZURE_AUTHORITY_HOST", &issuer.server.uri())
}

fn bearer(call: Call, token: &str) -> Call {
    call.set("authorization", &format!("Bearer {token}"))
}

/// Card and endpoint, each without a credential.
fn both(server: &Server) -> [Call; 2] {
    [server.get(CARD).without("x-functions-key"), server.call_without_key()]
}

async fn knock(call: Call) -> Reply {
    // A body does not hurt the card, which is only read.
    call.send(&json!({})).await
}

#[track_caller]
fn assert_refused(reply: &Reply, status: u16, challenge: &str) {
    let code = if status == 401 { -31401 } else { -31403 };
    assert_eq!((reply.status, reply.code(), reply.id()), (status, code, json!(null)), "{reply:?}");
    assert_eq!(reply.header("www-authenticate"), Some(challenge));
    assert_eq!(reply.details("google.rpc.ErrorInfo")[0]["metadata"]["scheme"], "entra");
}

const ASKS: &str = "Bearer realm=\"a2a-functions\"";
const INVALID: &str = "Bearer realm=\"a2a-functions\", error=\"invalid_token\"";
const INSUFFICIENT: &str = "Bearer realm=\"a2a-functions\", error=\"insufficient_scope\"";

#[tokio::test]
async fn card_and_endpoint_open_for_a_token_and_nothing_else() {
    let (signer, stranger) = (Signer::rsa("k1"), Signer::rsa("k1"));
    let issuer = Issuer::start(&[&signer]).await;
    let server = app(&issuer, "").start().await;
    let with = |members: &Value| format!("Bearer {}", signer.sign(&issuer.with(members)));
    let unsigned = {
        let token = signer.sign(&issuer.claims());
        format!("Bearer {}.", token.rsplit_once('.').unwrap().0)
    };
    for (credential, status, challenge) in [
        (None, 401, ASKS),
        (Some("Basic dXNlcjpwYXNz".to_owned()), 401, ASKS),
        (Some("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/lambda/aws4_request".to_owned()), 401, ASKS),
        (Some("Bearer not-a-token".to_owned()), 401, INVALID),
        (Some(unsigned), 401, INVALID),
        (Some(format!("Bearer {}", stranger.sign(&issuer.claims()))), 401, INVALID),
        (Some(with(&json!({ "exp": 1_000_000_000 }))), 401, INVALID),
        (Some(with(&json!({ "aud": "00000003-0000-0000-c000-000000000000" }))), 401, INVALID),
        (Some(with(&json!({ "tid": "00000000-0000-0000-0000-000000000000" }))), 401, INVALID),
        (Some(with(&json!({ "iss": "https://login.example/v2.0" }))), 401, INVALID),
        (Some(with(&json!({ "scp": "" }))), 403, INSUFFICIENT),
    ] {
        for call in both(&server) {
            let call = match &credential {
                Some(credential) => call.set("authorization", credential),
                None => call,
            };
            assert_refused(&knock(call).await, status, challenge);
        }
    }
    // A function key is no token.
    assert_refused(&knock(server.call()).await, 401, ASKS);
    assert_eq!(server.runner.runs(), 0);

    let token = signer.sign(&issuer.claims());
    let [card, endpoint] = both(&server).map(|call| bearer(call, &token));
    let card = card.nothing().await;
    assert_eq!((card.status, card.header("vary")), (200, Some("authorization")), "{card:?}");
    let scheme = &card.json()["securitySchemes"]["entra"]["httpAuthSecurityScheme"];
    assert_eq!((&scheme["scheme"], &scheme["bearerFormat"]), (&json!("Bearer"), &json!("JWT")));
    assert_eq!(knock(endpoint).await.code(), 0);
}

#[tokio::test]
async fn c064_c065_a_caller_that_is_known_and_not_allowed_gets_403() {
    let signer = Signer::ec("k1");
    let issuer = Issuer::start(&[&signer]).await;
    for (settings, members, status) in [
        ("required_scopes: [Agent.Invoke]", json!({}), 200),
        ("required_scopes: [Agent.Invoke]", json!({ "scp": "Agent.InvokeAll other" }), 403),
        ("required_roles: [Agent.Invoke]", json!({ "scp": "", "roles": ["Agent.Invoke"] }), 200),
        ("required_roles: [Agent.Invoke]", json!({}), 403),
        ("allowed_client_ids: [client]", json!({ "scp": "" }), 200),
        ("allowed_client_ids: [other]", json!({}), 403),
        ("allowed_client_ids: [other]", json!({ "appid": "other" }), 403),
    ] {
        let server = app(&issuer, settings).start().await;
        let reply = knock(bearer(server.call_without_key(), &signer.sign(&issuer.with(&members)))).await;
        if status == 200 {
            assert_eq!(reply.code(), 0, "{settings} {members}");
        } else {
            assert_refused(&reply, status, INSUFFICIENT);
        }
    }
}

#[tokio::test]
async fn callers_are_told_apart_by_their_tokens() {
    let signer = Signer::ec("k1");
    let issuer = Issuer::start(&[&signer]).await;
    let server = app(&issuer, "").start().await;
    let of = |oid: &str| bearer(server.call_without_key(), &signer.sign(&issuer.with(&json!({ "oid": oid }))));
    of("ann").say("ctx", "one").await.message();
    assert_eq!(witnessed(&of("bob").say("ctx", "two").await.said()), ["two"]);
    assert_eq!(witnessed(&of("ann").say("ctx", "three").await.said()), ["one", "three"]);
}

#[tokio::test]
async fn an_issuer_out_of_reach_is_a_fault_that_passes() {
    let signer = Signer::ec("k1");
    let issuer = Issuer::start(&[&signer]).await;
    let token = signer.sign(&issuer.claims());
    let server = app(&issuer, "").start().await;
    issuer.server.reset().await;
    let reply = knock(bearer(server.call_without_key(), &token)).await;
    assert_eq!((reply.status, reply.code()), (503, -32603), "{reply:?}");
    assert_eq!((reply.header("retry-after"), reply.header("www-authenticate")), (Some("30"), None));
    assert_eq!(server.runner.runs(), 0);
}

fn principal(oid: &str) -> String {
    STANDARD.encode(
        json!({ "auth_typ": "aad", "claims": [
            { "typ": "http://schemas.microsoft.com/identity/claims/tenantid", "val": TENANT },
            { "typ": "aud", "val": AUDIENCE },
            { "typ": "http://schemas.microsoft.com/identity/claims/objectidentifier", "val": oid },
        ]})
        .to_string(),
    )
}

#[tokio::test]
async fn c055_a_principal_is_believed_where_the_platform_vouches_for_it_alone() {
    let signer = Signer::ec("k1");
    let issuer = Issuer::start(&[&signer]).await;
    for vouched in [false, true] {
        let server = app(&issuer, "").host(|host| host.vouches_for_principals = vouched).start().await;
        let with = |oid: &str| server.call_without_key().set("x-ms-client-principal", &principal(oid));
        let alone = knock(with("ann")).await;
        let token = signer.sign(&issuer.with(&json!({ "oid": "ann" })));
        let disagreeing = knock(bearer(with("eve"), &token)).await;
        if vouched {
            assert_eq!(alone.code(), 0);
            assert_refused(&disagreeing, 401, INVALID);
        } else {
            assert_refused(&alone, 401, ASKS);
            // The forged header is nobody's.
            assert_eq!(disagreeing.code(), 0);
        }
        assert_eq!(knock(bearer(with("ann"), &token)).await.code(), 0);
    }
}

#[tokio::test]
async fn c055_an_agent_for_entra_is_not_served_without_a_tenant_and_an_audience() {
    for entra in ["entra", "{mode: entra, entra: {tenant_id: t, allowed_audiences: [a]}}"] {
        let refusal = App::of(&agent(entra, "")).refusal();
        assert!(refusal.contains("entra"), "{refusal}");
    }
    let complete = format!("{{mode: entra, entra: {{tenant_id: {TENANT}, allowed_audiences: [a]}}}}");
    for authority in ["http://login.example", "https://login.example/common", "nonsense"] {
        let refusal = App::of(&agent(&complete, "")).variable("AZURE_AUTHORITY_HOST", authority).refusal();
        assert!(refusal.contains("AZURE_AUTHORITY_HOST"), "{refusal}");
    }
}

#[tokio::test]
async fn agents_of_one_app_ask_for_what_they_are_told_to() {
    let signer = Signer::ec("k1");
    let issuer = Issuer::start(&[&signer]).await;
    let other = agent("function", "").replace("/main/a2a", "/other/a2a").replace("name: Main", "name: Other");
    let server = app(&issuer, "").file("other.agent.md", &other).start().await;
    let token = signer.sign(&issuer.claims());
    let other = Call::post(server.url("/agents/other/a2a"));
    assert_eq!(knock(other.clone().set("x-functions-key", KEY)).await.code(), 0);
    assert_eq!(knock(bearer(other, &token)).await.status, 401);
    assert_refused(&knock(server.call()).await, 401, ASKS);
    assert_eq!(knock(bearer(server.call_without_key(), &token)).await.code(), 0);
}
