//! The pipeline policies that prove who sends a request: shared key, shared access signature or a token.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use azure_core::credentials::Secret;
use azure_core::error::{Error, ErrorKind};
use azure_core::http::headers::{AUTHORIZATION, CONTENT_TYPE, HeaderName};
use azure_core::http::policies::{Policy, PolicyResult};
use azure_core::http::{Context, Request};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tokio::sync::OnceCell;

use super::settings::TableCredential;
use crate::http::HttpClient;
use crate::http::identity::Identity;
use crate::http::token::{self, TokenSource};

/// What a token for the table service is asked for ("Authorize access to tables using Microsoft Entra ID").
const SCOPE: &str = "https://storage.azure.com/.default";
const DATE: HeaderName = HeaderName::from_static("x-ms-date");

/// The policy for `credential`; a token is asked for, through `http`, when the first request needs one.
pub(super) fn policy(credential: TableCredential, http: &HttpClient) -> Arc<dyn Policy> {
    match credential {
        TableCredential::SharedKey { account, key } => Arc::new(SharedKeyPolicy { account, key }),
        TableCredential::Sas(signature) => Arc::new(SasPolicy { signature }),
        TableCredential::Identity(identity) => {
            Arc::new(TokenPolicy { identity, http: http.clone(), tokens: OnceCell::new() })
        }
    }
}

/// Signs each attempt with the account's key ("Authorize with Shared Key", Table service).
#[derive(Debug)]
struct SharedKeyPolicy {
    account: String,
    key: Secret,
}

#[async_trait]
impl Policy for SharedKeyPolicy {
    async fn send(&self, context: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        let date = httpdate::fmt_http_date(SystemTime::now());
        let signature = self.sign(&text_to_sign(&self.account, request, &date))?;
        request.insert_header(DATE, date);
        request.insert_header(AUTHORIZATION, format!("SharedKey {}:{signature}", self.account));
        forward(context, request, next).await
    }
}

impl SharedKeyPolicy {
    fn sign(&self, text: &str) -> azure_core::Result<String> {
        let unusable = || Error::with_message(ErrorKind::Credential, "the account key cannot sign");
        let key = STANDARD.decode(self.key.secret()).map_err(|_| unusable())?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| unusable())?;
        mac.update(text.as_bytes());
        Ok(STANDARD.encode(mac.finalize().into_bytes()))
    }
}

fn text_to_sign(account: &str, request: &Request, date: &str) -> String {
    let content_type = request.headers().get_optional_str(&CONTENT_TYPE).unwrap_or_default();
    // The second line is for an MD5 of the body, which is optional and not sent.
    format!("{}\n\n{content_type}\n{date}\n/{account}{}", request.method(), request.url().path())
}

/// Puts the signature's parameters behind each request's own.
#[derive(Debug)]
struct SasPolicy {
    signature: Secret,
}

#[async_trait]
impl Policy for SasPolicy {
    async fn send(&self, context: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        // On a copy: the same request passes here again when it is retried.
        let mut signed = request.clone();
        let query = match signed.url().query() {
            Some(query) => format!("{query}&{}", self.signature.secret()),
            None => self.signature.secret().to_owned(),
        };
        signed.url_mut().set_query(Some(&query));
        forward(context, &mut signed, next).await
    }
}

/// Sends a bearer token along.
#[derive(Debug)]
struct TokenPolicy {
    identity: Identity,
    http: HttpClient,
    tokens: OnceCell<TokenSource>,
}

#[async_trait]
impl Policy for TokenPolicy {
    async fn send(&self, context: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        if request.url().scheme() != "https" {
            return Err(Error::with_message(ErrorKind::Credential, "a token is sent over https only"));
        }
        let tokens = self.tokens.get_or_try_init(|| async {
            token::credential(&self.identity, &self.http).map(|credential| TokenSource::new(credential, SCOPE))
        });
        let token = tokens.await?.token().await?;
        request.insert_header(AUTHORIZATION, format!("Bearer {}", token.token.secret()));
        forward(context, request, next).await
    }
}

async fn forward(context: &Context<'_>, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
    match next {
        [policy, rest @ ..] => policy.send(context, request, rest).await,
        [] => Err(Error::with_message(ErrorKind::Other, "no transport follows the credential")),
    }
}

#[cfg(test)]
mod tests {
    use azure_core::http::{Method, Url};

    use super::*;

    #[test]
    fn the_signed_text_has_the_layout_of_the_table_service() {
        let url = Url::parse("http://127.0.0.1:10002/acc/t(PartitionKey='p',RowKey='r')?$top=3").unwrap();
        let mut request = Request::new(url, Method::Put);
        request.insert_header(CONTENT_TYPE, "application/json");
        assert_eq!(
            text_to_sign("acc", &request, "Tue, 01 Dec 2026 00:00:00 GMT"),
            "PUT\n\napplication/json\nTue, 01 Dec 2026 00:00:00 GMT\n/acc/acc/t(PartitionKey='p',RowKey='r')"
        );
    }

    /// RFC 4231, test case 2.
    #[test]
    fn the_signature_is_hmac_sha256() {
        let policy = SharedKeyPolicy { account: "a".to_owned(), key: Secret::new(STANDARD.encode("Jefe")) };
        let signature = policy.sign("what do ya want for nothing?").unwrap();
        assert_eq!(signature, "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=");
    }
}
