//! The header that authenticates a request, ready or fetched.

use http::HeaderValue;
use http::header::{AUTHORIZATION, HeaderName};

use super::failure::Failure;
use crate::http::HttpClient;
use crate::runner::RunnerError;
use crate::runner::settings::Auth;

/// What requests are authenticated with.
#[derive(Debug)]
pub(super) enum Credential {
    None,
    Fixed(HeaderName, HeaderValue),
    #[cfg(feature = "azure")]
    Entra(entra::Tokens),
    #[cfg(not(feature = "azure"))]
    Entra,
}

impl Credential {
    #[cfg_attr(not(feature = "azure"), expect(unused_variables, reason = "only Entra tokens are fetched over HTTP"))]
    pub(super) fn new(auth: &Auth, http: &HttpClient) -> Self {
        match auth {
            Auth::None => Self::None,
            Auth::Bearer(value) => Self::Fixed(AUTHORIZATION, value.clone()),
            Auth::ApiKey(value) => Self::Fixed(HeaderName::from_static("api-key"), value.clone()),
            #[cfg(feature = "azure")]
            Auth::Entra { scope, identity } => Self::Entra(entra::Tokens::new(scope, identity.clone(), http.clone())),
            #[cfg(not(feature = "azure"))]
            Auth::Entra { .. } => Self::Entra,
        }
    }

    /// The header, if requests carry one.
    #[cfg_attr(not(feature = "azure"), expect(clippy::unused_async, reason = "only Entra tokens are waited for"))]
    pub(super) async fn header(&self) -> Result<Option<(HeaderName, HeaderValue)>, Failure> {
        match self {
            Self::None => Ok(None),
            Self::Fixed(name, value) => Ok(Some((name.clone(), value.clone()))),
            #[cfg(feature = "azure")]
            Self::Entra(tokens) => tokens.header().await.map(|value| Some((AUTHORIZATION, value))),
            #[cfg(not(feature = "azure"))]
            Self::Entra => Err(Failure::lasting(RunnerError::NotConfigured(
                "this build cannot get Microsoft Entra ID tokens (cargo feature azure)".to_owned(),
            ))),
        }
    }
}

#[cfg(feature = "azure")]
mod entra {
    use tokio::sync::OnceCell;

    use super::super::redact::Secrets;
    use super::{Failure, HeaderValue, HttpClient, RunnerError};
    use crate::http::identity::Identity;
    use crate::http::token::{TokenSource, credential};

    /// Entra tokens as header values; the credential is made when the first one is asked for.
    #[derive(Debug)]
    pub(in super::super) struct Tokens {
        scope: &'static str,
        identity: Identity,
        http: HttpClient,
        source: OnceCell<TokenSource>,
    }

    impl Tokens {
        pub(super) fn new(scope: &'static str, identity: Identity, http: HttpClient) -> Self {
            Self { scope, identity, http, source: OnceCell::new() }
        }

        pub(super) async fn header(&self) -> Result<HeaderValue, Failure> {
            let source = self.source.get_or_try_init(async || {
                Ok(TokenSource::new(
                    credential(&self.identity, &self.http).map_err(|error| no_token(&error))?,
                    self.scope,
                ))
            });
            let token = source.await?.token().await.map_err(|error| no_token(&error))?;
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.token.secret())).map_err(|_| {
                Failure::malformed("the Entra token has characters that a header cannot carry".to_owned())
            })?;
            value.set_sensitive(true);
            Ok(value)
        }
    }

    /// The official client has repeated what is worth repeating.
    fn no_token(error: &azure_core::Error) -> Failure {
        let reason = Secrets::default().clean(&error.to_string(), 500).unwrap_or_default();
        Failure::lasting(RunnerError::Unavailable(format!("no Microsoft Entra ID token: {reason}")))
    }
}
