//! Microsoft Entra ID tokens, from the official credentials, over our own client.

use std::sync::Arc;

use azure_core::credentials::{AccessToken, TokenCredential};
use azure_core::http::{ClientOptions, Transport};
use azure_core::time::{Duration, OffsetDateTime};
use azure_identity::{
    DeveloperToolsCredential, ManagedIdentityCredential, ManagedIdentityCredentialOptions, UserAssignedId,
    WorkloadIdentityCredential, WorkloadIdentityCredentialOptions,
};
use tokio::sync::Mutex;

use super::HttpClient;
use super::identity::Identity;

/// How long before its end a token is replaced: longer than any request that carries it takes to arrive.
const REFRESH_MARGIN: Duration = Duration::minutes(5);

/// The official credential for `identity`, sending its requests through `http`.
pub fn credential(identity: &Identity, http: &HttpClient) -> azure_core::Result<Arc<dyn TokenCredential>> {
    let client_options = || -> azure_core::Result<ClientOptions> {
        let client = http.get().map_err(|error| {
            azure_core::Error::with_message(azure_core::error::ErrorKind::Credential, error.to_string())
        })?;
        Ok(ClientOptions { transport: Some(Transport::new(Arc::new(client.clone()))), ..ClientOptions::default() })
    };
    Ok(match identity {
        Identity::Managed { client_id } => ManagedIdentityCredential::new(Some(ManagedIdentityCredentialOptions {
            user_assigned_id: client_id.clone().map(UserAssignedId::ClientId),
            client_options: client_options()?,
        }))?,
        Identity::Workload => {
            let mut options = WorkloadIdentityCredentialOptions::default();
            options.credential_options.client_options = client_options()?;
            WorkloadIdentityCredential::new(Some(options))?
        }
        Identity::Developer => DeveloperToolsCredential::new(None)?,
    })
}

/// Tokens of one scope, kept until shortly before they expire.
///
/// The developer credential starts a process for every token, and no credential serves the old token while the
/// service that issues the next one is down: both are made good here.
#[derive(Debug)]
pub struct TokenSource {
    credential: Arc<dyn TokenCredential>,
    scope: &'static str,
    current: Mutex<Option<AccessToken>>,
}

impl TokenSource {
    /// A source with nothing cached.
    pub fn new(credential: Arc<dyn TokenCredential>, scope: &'static str) -> Self {
        Self { credential, scope, current: Mutex::default() }
    }

    /// A token that is still good. Callers that arrive during a refresh wait for it instead of starting another.
    pub async fn token(&self) -> azure_core::Result<AccessToken> {
        let mut current = self.current.lock().await;
        let now = OffsetDateTime::now_utc();
        let held = current.as_ref().filter(|token| token.expires_on > now).cloned();
        if let Some(token) = held.as_ref().filter(|token| token.expires_on - now > REFRESH_MARGIN) {
            return Ok(token.clone());
        }
        match (self.credential.get_token(&[self.scope], None).await, held) {
            (Ok(token), _) => Ok(current.insert(token).clone()),
            (Err(error), Some(token)) => {
                tracing::warn!(%error, "a token could not be renewed; the old one is used until it expires");
                Ok(token)
            }
            (Err(error), None) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use azure_core::credentials::TokenRequestOptions;

    use super::*;

    /// Issues `token-1`, `token-2`, … until its supply ends.
    #[derive(Debug)]
    struct Issuer {
        lifetime: Duration,
        supply: usize,
        asked: AtomicUsize,
    }

    #[async_trait::async_trait]
    impl TokenCredential for Issuer {
        async fn get_token(&self, _: &[&str], _: Option<TokenRequestOptions<'_>>) -> azure_core::Result<AccessToken> {
            let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
            tokio::task::yield_now().await;
            if number > self.supply {
                return Err(azure_core::Error::with_message(azure_core::error::ErrorKind::Credential, "outage"));
            }
            Ok(AccessToken::new(format!("token-{number}"), OffsetDateTime::now_utc() + self.lifetime))
        }
    }

    fn source(lifetime: Duration, supply: usize) -> (Arc<Issuer>, TokenSource) {
        let issuer = Arc::new(Issuer { lifetime, supply, asked: AtomicUsize::new(0) });
        (Arc::clone(&issuer), TokenSource::new(issuer, "scope"))
    }

    #[tokio::test]
    async fn a_token_is_asked_for_once_even_by_many_at_a_time() {
        let (issuer, source) = source(Duration::hours(1), 9);
        let tokens = futures::future::join_all((0..8).map(|_| source.token())).await;
        assert!(tokens.iter().all(|token| token.as_ref().unwrap().token.secret() == "token-1"));
        assert_eq!(issuer.asked.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_token_near_its_end_is_replaced() {
        let (_, source) = source(Duration::minutes(4), 9);
        source.token().await.unwrap();
        assert_eq!(source.token().await.unwrap().token.secret(), "token-2");
    }

    #[tokio::test]
    async fn an_outage_is_bridged_with_the_old_token_while_it_is_good() {
        let (_, lasting) = source(Duration::minutes(4), 1);
        lasting.token().await.unwrap();
        assert_eq!(lasting.token().await.unwrap().token.secret(), "token-1");

        let (_, expired) = source(Duration::seconds(-1), 1);
        expired.token().await.unwrap();
        assert!(expired.token().await.is_err());
    }
}
