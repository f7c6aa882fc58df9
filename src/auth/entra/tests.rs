//! Tokens with real signatures against an issuer that publishes its keys over HTTP.

#[path = "../../../tests/support/issuer.rs"]
mod issuer;

use http::header::AUTHORIZATION;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use crate::clock::SystemClock;
use crate::config::Environment;
use issuer::{AUDIENCE, Issuer, Signer, TENANT};

fn entra(issuer: &Issuer, trusts_principals: bool) -> Entra {
    let authority = AuthorityHost::parse(Some(&issuer.server.uri())).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    Entra::new([TENANT], &authority, &HttpClient::from_env(&Environment::default()), &clock, trusts_principals)
}

fn policy() -> EntraAuth {
    EntraAuth {
        tenant_id: Some(TENANT.to_owned()),
        allowed_audiences: vec![AUDIENCE.to_owned()],
        ..EntraAuth::default()
    }
}

fn bearer(token: &str) -> HeaderMap {
    HeaderMap::from_iter([(AUTHORIZATION, format!("Bearer {token}").parse().unwrap())])
}

async fn judge(entra: &Entra, token: &str) -> Result<String, Refusal> {
    entra.authenticate(&policy(), &bearer(token)).await
}

fn object() -> String {
    format!("entra:{TENANT}:object")
}

#[tokio::test]
async fn c059_tokens_of_both_versions_are_accepted_from_their_own_issuer_alone() {
    let (rsa, ec) = (Signer::rsa("rsa"), Signer::ec("ec"));
    let issuer = Issuer::start(&[&rsa, &ec]).await;
    let entra = entra(&issuer, false);
    let v1 = |iss: &str| issuer.with(&json!({ "ver": "1.0", "iss": iss }));
    let v2 = |iss: &str| issuer.with(&json!({ "iss": iss }));
    let sts = format!("https://sts.windows.net/{TENANT}/");
    for (token, expected) in [
        (rsa.sign(&issuer.claims()), Ok(object())),
        (ec.sign(&issuer.claims()), Ok(object())),
        (rsa.sign(&v1(&sts)), Ok(object())),
        (rsa.sign(&v1(sts.trim_end_matches('/'))), Err(Refusal::WrongIssuer)),
        (rsa.sign(&v2(&sts)), Err(Refusal::WrongIssuer)),
        (rsa.sign(&v2("https://login.microsoftonline.com.example/v2.0")), Err(Refusal::WrongIssuer)),
        (rsa.sign(&v2("")), Err(Refusal::WrongIssuer)),
        (rsa.sign(&issuer.with(&json!({ "tid": "00000000-0000-0000-0000-000000000000" }))), Err(Refusal::WrongTenant)),
    ] {
        assert_eq!(judge(&entra, &token).await, expected);
    }
}

#[tokio::test]
async fn c062_what_is_not_signed_by_a_published_key_is_refused() {
    let (known, stranger) = (Signer::rsa("k1"), Signer::rsa("k1"));
    let issuer = Issuer::start(&[&known]).await;
    let entra = entra(&issuer, false);
    let signed = known.sign(&issuer.claims());
    let parts: Vec<&str> = signed.split('.').collect();
    let with_header = |header: &Value| {
        use base64::Engine as _;
        let encoded = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(header.to_string());
        format!("{encoded}.{}.{}", parts[1], parts[2])
    };
    let public = known.published()["n"].as_str().unwrap().to_owned();
    let hmac = encode(
        &Header { kid: Some("k1".to_owned()), ..Header::new(Algorithm::HS256) },
        &issuer.claims(),
        &EncodingKey::from_secret(public.as_bytes()).unwrap(),
    )
    .unwrap();
    for (token, expected) in [
        (signed.clone(), Ok(object())),
        (stranger.sign(&issuer.claims()), Err(Refusal::BadSignature)),
        (format!("{}.{}.", parts[0], parts[1]), Err(Refusal::BadSignature)),
        (format!("{}.{}", parts[0], parts[1]), Err(Refusal::MalformedToken)),
        (format!("{signed}.x.y"), Err(Refusal::MalformedToken)),
        (with_header(&json!({ "alg": "none", "kid": "k1" })), Err(Refusal::MalformedToken)),
        (with_header(&json!({ "alg": "None", "kid": "k1" })), Err(Refusal::MalformedToken)),
        (with_header(&json!({ "alg": "RS512", "kid": "k1" })), Err(Refusal::Algorithm)),
        (with_header(&json!({ "alg": "RS256" })), Err(Refusal::UnknownKey)),
        (with_header(&json!({ "alg": "RS256", "kid": "k9" })), Err(Refusal::UnknownKey)),
        (with_header(&json!({ "alg": "ES256", "kid": "k1" })), Err(Refusal::WrongIssuer)),
        (with_header(&json!({ "alg": "RS256", "kid": "k1", "crit": ["x"] })), Err(Refusal::BadSignature)),
        (hmac, Err(Refusal::Algorithm)),
        ("a.b.c".to_owned(), Err(Refusal::MalformedToken)),
    ] {
        assert_eq!(judge(&entra, &token).await, expected, "{token}");
    }
}

#[tokio::test]
async fn c066_a_token_for_another_service_is_refused_for_its_audience() {
    let signer = Signer::rsa("k1");
    let issuer = Issuer::start(&[&signer]).await;
    let claims = issuer.with(&json!({ "aud": "00000003-0000-0000-c000-000000000000" }));
    let mut header = Header { kid: Some("k1".to_owned()), ..Header::new(Algorithm::RS256) };
    header.extras.insert("nonce", "n");
    let token = encode(&header, &claims, &signer.key).unwrap();
    assert_eq!(judge(&entra(&issuer, false), &token).await, Err(Refusal::WrongAudience));
    assert!(issuer.server.received_requests().await.unwrap().is_empty(), "the issuer was not asked for keys");
}

#[tokio::test]
async fn c063_a_rolled_over_key_counts_from_its_first_token() {
    let (first, second) = (Signer::rsa("k1"), Signer::rsa("k2"));
    let issuer = Issuer::start(&[&first]).await;
    let entra = entra(&issuer, false);
    issuer.keys.lock().unwrap().push(second.published());
    // The first token to come is of the new key.
    assert_eq!(judge(&entra, &second.sign(&issuer.claims())).await, Ok(object()));
    assert_eq!(judge(&entra, &first.sign(&issuer.claims())).await, Ok(object()));
}

#[tokio::test]
async fn a_key_for_another_issuer_verifies_nothing() {
    let signer = Signer::rsa("k1");
    let issuer = Issuer::start(&[]).await;
    let entra = entra(&issuer, false);
    let mut foreign = signer.published();
    foreign["issuer"] = json!("https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0");
    issuer.keys.lock().unwrap().push(foreign);
    assert_eq!(judge(&entra, &signer.sign(&issuer.claims())).await, Err(Refusal::WrongIssuer));
}

#[tokio::test]
async fn keys_of_another_host_or_without_bound_are_not_read() {
    let signer = Signer::rsa("k1");
    for metadata in [
        json!({ "issuer": "i", "jwks_uri": "https://keys.example/k" }),
        json!({ "issuer": "i", "jwks_uri": "file:///etc/passwd" }),
        json!({ "issuer": "i", "jwks_uri": "{base}/large" }),
        json!({ "issuer": "i", "jwks_uri": "{base}/moved" }),
        json!({ "issuer": "i" }),
    ] {
        let server = MockServer::start().await;
        let text = metadata.to_string().replace("{base}", &server.uri());
        for (at, answer) in [
            (
                format!("/{TENANT}/v2.0/.well-known/openid-configuration"),
                ResponseTemplate::new(200).set_body_string(text),
            ),
            ("/large".to_owned(), ResponseTemplate::new(200).set_body_string(" ".repeat(600 * 1024))),
            ("/moved".to_owned(), ResponseTemplate::new(302).insert_header("location", "/keys")),
        ] {
            Mock::given(path(at)).respond_with(answer).mount(&server).await;
        }
        let issuer = Issuer { server, keys: Arc::default() };
        let answer = judge(&entra(&issuer, false), &signer.sign(&issuer.claims())).await;
        assert_eq!(answer, Err(Refusal::KeysUnavailable), "{metadata}");
    }
}

#[tokio::test]
async fn c055_a_principal_counts_only_where_the_platform_vouches_for_it() {
    use base64::Engine as _;
    let signer = Signer::rsa("k1");
    let issuer = Issuer::start(&[&signer]).await;
    let header = |oid: &str| {
        let principal = json!({ "auth_typ": "aad", "claims": [
            { "typ": "tid", "val": TENANT }, { "typ": "aud", "val": AUDIENCE }, { "typ": "oid", "val": oid },
        ]});
        base64::engine::general_purpose::STANDARD.encode(principal.to_string())
    };
    let token = signer.sign(&issuer.claims());
    for (trusted, principal, token, expected) in [
        (false, Some("object"), None, Err(Refusal::NoToken)),
        (true, Some("object"), None, Ok(object())),
        (true, None, None, Err(Refusal::NoToken)),
        (true, Some("object"), Some(&token), Ok(object())),
        (true, Some("another"), Some(&token), Err(Refusal::Disagreement)),
        (false, Some("another"), Some(&token), Ok(object())),
        (true, None, Some(&token), Ok(object())),
    ] {
        let mut headers = token.map(|token| bearer(token)).unwrap_or_default();
        if let Some(oid) = principal {
            headers.insert(principal::PRINCIPAL_HEADER, header(oid).parse().unwrap());
        }
        let answer = entra(&issuer, trusted).authenticate(&policy(), &headers).await;
        assert_eq!(answer, expected, "trusted {trusted}, principal {principal:?}, token {}", token.is_some());
    }
}
