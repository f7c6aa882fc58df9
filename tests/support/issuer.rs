//! An issuer of tokens in the shape of Microsoft Entra ID, with real keys, that publishes them over HTTP.

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

pub(crate) const TENANT: &str = "ab1f708d-50f6-404c-a006-d71b2ac7a606";
pub(crate) const AUDIENCE: &str = "api://5d4f5f6a-0c5c-4f0e-9d2a-3a1f0b0c9d8e";

/// A key pair that tokens are signed with.
pub(crate) struct Signer {
    pub(crate) id: &'static str,
    pub(crate) algorithm: Algorithm,
    pub(crate) key: EncodingKey,
}

#[allow(dead_code, reason = "each test binary uses a part of it")]
impl Signer {
    pub(crate) fn rsa(id: &'static str) -> Self {
        let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).unwrap();
        let key = EncodingKey::from_rsa_pem(pair.serialize_pem().as_bytes()).unwrap();
        Self { id, algorithm: Algorithm::RS256, key }
    }

    pub(crate) fn ec(id: &'static str) -> Self {
        let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
        let key = EncodingKey::from_ec_pem(pair.serialize_pem().as_bytes()).unwrap();
        Self { id, algorithm: Algorithm::ES256, key }
    }

    pub(crate) fn published(&self) -> Value {
        let mut key = serde_json::to_value(Jwk::from_encoding_key(&self.key, self.algorithm).unwrap()).unwrap();
        key["kid"] = json!(self.id);
        key["use"] = json!("sig");
        key
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        let mut header = Header::new(self.algorithm);
        header.kid = Some(self.id.to_owned());
        encode(&header, claims, &self.key).unwrap()
    }
}

/// An issuer in Entra's shape, for both versions of tokens.
pub(crate) struct Issuer {
    pub(crate) server: MockServer,
    #[allow(dead_code, reason = "each test binary uses a part of it")]
    pub(crate) keys: Arc<Mutex<Vec<Value>>>,
}

#[allow(dead_code, reason = "each test binary uses a part of it")]
impl Issuer {
    pub(crate) async fn start(signers: &[&Signer]) -> Self {
        let server = MockServer::start().await;
        let keys = Arc::new(Mutex::new(signers.iter().map(|signer| signer.published()).collect::<Vec<_>>()));
        let base = server.uri();
        for (version, issuer) in
            [("", format!("https://sts.windows.net/{TENANT}/")), ("v2.0/", format!("{base}/{{tenantid}}/v2.0"))]
        {
            let metadata = json!({ "issuer": issuer, "jwks_uri": format!("{base}/{TENANT}/discovery/keys") });
            Mock::given(path(format!("/{TENANT}/{version}.well-known/openid-configuration")))
                .respond_with(ResponseTemplate::new(200).set_body_json(metadata))
                .mount(&server)
                .await;
        }
        let published = keys.clone();
        Mock::given(path(format!("/{TENANT}/discovery/keys")))
            .respond_with(move |_: &Request| {
                ResponseTemplate::new(200).set_body_json(json!({ "keys": *published.lock().unwrap() }))
            })
            .mount(&server)
            .await;
        Self { server, keys }
    }

    /// The claims of a good token of version 2.
    pub(crate) fn claims(&self) -> Value {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        json!({
            "iss": format!("{}/{TENANT}/v2.0", self.server.uri()), "ver": "2.0", "tid": TENANT, "aud": AUDIENCE,
            "oid": "object", "azp": "client", "scp": "Agent.Invoke", "iat": now, "nbf": now, "exp": now + 3600,
        })
    }

    pub(crate) fn with(&self, members: &Value) -> Value {
        let mut claims = self.claims();
        claims.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        claims
    }
}
