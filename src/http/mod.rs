//! The only constructor of outbound HTTP clients: time-outs, proxies, redirects and TLS are decided here, once.

pub mod endpoint;
pub mod identity;
mod proxy;
#[cfg(feature = "azure")]
pub mod token;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use proxy::ProxySettings;

use crate::config::Environment;

/// What outbound requests call themselves.
const USER_AGENT: &str = concat!("a2a-functions/", env!("CARGO_PKG_VERSION"));
/// How long a TCP and TLS handshake may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an unused connection is kept: well under the four minutes after which Azure's load balancers drop it silently.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The reason that no client could be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("outbound HTTP cannot be set up: {0}")]
pub struct HttpSetupError(String);

/// A shared outbound client that costs nothing until its first use.
///
/// Loading the trust store and building a TLS client takes milliseconds, which a cold start that serves only cards or demo
/// replies must not pay. Clones share one connection pool.
///
/// The client follows no redirect: a redirected POST would lose its body or hand a credential to another host. It sets no
/// total or read time-out, because a model may think for minutes: every caller brings its own deadline.
#[derive(Debug, Clone)]
pub struct HttpClient {
    proxy: ProxySettings,
    built: Arc<OnceLock<Result<reqwest::Client, HttpSetupError>>>,
}

impl HttpClient {
    /// A client that will use the proxies that the environment names (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`,
    /// `NO_PROXY`, or the same in lower case).
    pub fn from_env(environment: &Environment) -> Self {
        Self { proxy: ProxySettings::from_env(environment), built: Arc::default() }
    }

    /// The client, built on the first call.
    pub fn get(&self) -> Result<&reqwest::Client, HttpSetupError> {
        self.built.get_or_init(|| build(&self.proxy)).as_ref().map_err(Clone::clone)
    }
}

fn build(proxy: &ProxySettings) -> Result<reqwest::Client, HttpSetupError> {
    let builder = reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .tls_backend_rustls();
    proxy.apply(builder)?.build().map_err(|error| HttpSetupError(error.to_string()))
}

#[cfg(test)]
mod tests;
