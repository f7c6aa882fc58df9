//! Where a tenant publishes its issuer and keys: OpenID Connect Discovery 1.0, and the JSON Web Key set (RFC 7517).

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use jsonwebtoken::jwk::Jwk;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::{Host, Url};

use super::claims::TokenVersion;
use crate::http::HttpClient;

/// The authority of the public cloud.
const PUBLIC_CLOUD: &str = "https://login.microsoftonline.com/";
/// Largest document that is read, in bytes. Entra's key sets have about 20 KiB.
const MAX_BYTES: usize = 512 * 1024;
/// One document must be there whole within this time.
const DEADLINE: Duration = Duration::from_secs(5);

/// What a tenant publishes.
#[derive(Debug, Clone)]
pub(super) struct Published {
    pub(super) issuer: String,
    /// Each key with the issuer that it is for, where the set says so.
    pub(super) keys: Vec<(Jwk, Option<String>)>,
}

/// Why nothing could be read; for the log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct FetchError(pub(super) String);

/// Where a key set comes from.
#[async_trait]
pub(super) trait Fetch: Send + Sync + std::fmt::Debug {
    async fn fetch(&self) -> Result<Published, FetchError>;
}

/// `AZURE_AUTHORITY_HOST` is not an address that tokens can be trusted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "AZURE_AUTHORITY_HOST must be an https address without path, such as https://login.microsoftonline.us, or http on a \
     loopback host"
)]
pub struct AuthorityHostError;

/// The service that issues tokens: one for each national cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityHost(Url);

impl AuthorityHost {
    /// The authority that `text` names; the public cloud's without it.
    pub fn parse(text: Option<&str>) -> Result<Self, AuthorityHostError> {
        let url = Url::parse(text.unwrap_or(PUBLIC_CLOUD)).map_err(|_| AuthorityHostError)?;
        let plain = url.username().is_empty() && url.password().is_none() && url.path() == "/";
        let bare = plain && url.query().is_none() && url.fragment().is_none();
        if bare && is_safe(&url) { Ok(Self(url)) } else { Err(AuthorityHostError) }
    }

    /// Where `tenant` publishes what belongs to tokens of `version`.
    fn discovery(&self, tenant: &str, version: TokenVersion) -> Url {
        let version = match version {
            TokenVersion::V1 => "",
            TokenVersion::V2 => "v2.0/",
        };
        let mut url = self.0.clone();
        url.set_path(&format!("{tenant}/{version}.well-known/openid-configuration"));
        url
    }
}

/// Whether what comes from there is what was sent: https, or no network at all.
fn is_safe(url: &Url) -> bool {
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" && url.host().is_some() || url.scheme() == "http" && loopback
}

/// Reads what a tenant publishes over HTTP.
#[derive(Debug)]
pub(super) struct Discovery {
    http: HttpClient,
    authority: AuthorityHost,
    tenant: String,
    version: TokenVersion,
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: Url,
}

#[derive(Deserialize)]
struct PublishedKeys {
    keys: Vec<Value>,
}

impl Discovery {
    pub(super) fn new(http: HttpClient, authority: AuthorityHost, tenant: &str, version: TokenVersion) -> Self {
        Self { http, authority, tenant: tenant.to_owned(), version }
    }

    async fn get<T: DeserializeOwned>(&self, url: Url, what: &str) -> Result<T, FetchError> {
        let host = url.host_str().unwrap_or_default().to_owned();
        let body = tokio::time::timeout(DEADLINE, self.read(url))
            .await
            .unwrap_or_else(|_| Err("no answer in time".to_owned()))
            .and_then(|body| serde_json::from_slice(&body).map_err(|error| error.to_string()));
        body.map_err(|reason| FetchError(format!("the {what} of {host}: {reason}")))
    }

    async fn read(&self, url: Url) -> Result<Bytes, String> {
        let client = self.http.get().map_err(|error| error.to_string())?;
        let mut response = client.get(url).send().await.map_err(|error| error.without_url().to_string())?;
        if !response.status().is_success() {
            return Err(format!("status {}", response.status().as_u16()));
        }
        let mut body = bytes::BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| error.without_url().to_string())? {
            if body.len() + chunk.len() > MAX_BYTES {
                return Err(format!("more than {MAX_BYTES} bytes"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }
}

#[async_trait]
impl Fetch for Discovery {
    async fn fetch(&self) -> Result<Published, FetchError> {
        let discovery = self.authority.discovery(&self.tenant, self.version);
        let metadata: Metadata = self.get(discovery, "OpenID metadata").await?;
        // Keys from elsewhere would make elsewhere the authority.
        if !is_safe(&metadata.jwks_uri) || metadata.jwks_uri.host() != self.authority.0.host() {
            return Err(FetchError("the OpenID metadata name keys of another host".to_owned()));
        }
        let published: PublishedKeys = self.get(metadata.jwks_uri, "key set").await?;
        let keys = published.keys.into_iter().filter_map(|key| {
            let issuer = key.get("issuer").and_then(Value::as_str).map(str::to_owned);
            // A key of a kind that is not known here is no reason to do without the others.
            Some((serde_json::from_value(key).ok()?, issuer))
        });
        let issuer = metadata.issuer.replace("{tenantid}", &self.tenant);
        Ok(Published { issuer, keys: keys.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_an_https_host_or_a_loopback_one() {
        for (text, legal) in [
            (None, true),
            (Some("https://login.microsoftonline.us"), true),
            (Some("https://login.partner.microsoftonline.cn/"), true),
            (Some("http://127.0.0.1:8080"), true),
            (Some("http://[::1]:8080"), true),
            (Some("http://localhost"), true),
            (Some("http://login.microsoftonline.com"), false),
            (Some("http://127.0.0.1.example.com"), false),
            (Some("https://user@login.microsoftonline.com"), false),
            (Some("https://login.microsoftonline.com/common"), false),
            (Some("https://login.microsoftonline.com/?x"), false),
            (Some("login.microsoftonline.com"), false),
            (Some("file:///etc/passwd"), false),
        ] {
            assert_eq!(AuthorityHost::parse(text).is_ok(), legal, "{text:?}");
        }
    }

    #[test]
    fn each_version_of_tokens_has_metadata_of_its_own() {
        let authority = AuthorityHost::parse(Some("https://login.microsoftonline.us")).unwrap();
        let url = |version| authority.discovery("t", version).to_string();
        assert_eq!(url(TokenVersion::V1), "https://login.microsoftonline.us/t/.well-known/openid-configuration");
        assert_eq!(url(TokenVersion::V2), "https://login.microsoftonline.us/t/v2.0/.well-known/openid-configuration");
    }
}
