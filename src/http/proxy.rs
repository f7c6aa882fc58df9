//! Which outbound requests go through a proxy.

use reqwest::{ClientBuilder, NoProxy, Proxy};

use super::HttpSetupError;
use crate::config::Environment;
use crate::config::variables::{self, Variable};

/// Never proxied: this machine, and the address where Azure and AWS hand out a machine's identity.
const ALWAYS_DIRECT: &str = "localhost,127.0.0.0/8,::1,169.254.169.254";

/// Proxies as the environment names them. Loopback and metadata addresses are always reached directly.
#[derive(Clone, Default)]
pub(super) struct ProxySettings {
    /// `(scheme, proxy URL)` in the order in which they are consulted.
    proxies: Vec<(Scheme, String)>,
    bypass: String,
}

#[derive(Debug, Clone, Copy)]
enum Scheme {
    Https,
    Http,
    All,
}

impl ProxySettings {
    pub(super) fn from_env(environment: &Environment) -> Self {
        let either_case = |variable: Variable| {
            let lower = variable.name.to_ascii_lowercase();
            environment.get_filled(&lower).or_else(|| environment.get_filled(variable.name)).map(str::to_owned)
        };
        let proxies = [
            (Scheme::Https, variables::HTTPS_PROXY),
            (Scheme::Http, variables::HTTP_PROXY),
            (Scheme::All, variables::ALL_PROXY),
        ]
        .into_iter()
        .filter_map(|(scheme, variable)| Some((scheme, either_case(variable)?)))
        .collect();
        let bypass = match either_case(variables::NO_PROXY) {
            Some(extra) => format!("{ALWAYS_DIRECT},{extra}"),
            None => ALWAYS_DIRECT.to_owned(),
        };
        Self { proxies, bypass }
    }

    pub(super) fn apply(&self, builder: ClientBuilder) -> Result<ClientBuilder, HttpSetupError> {
        // Without this call reqwest would look at the process environment itself, and know nothing of ALWAYS_DIRECT.
        let mut builder = builder.no_proxy();
        for (scheme, url) in &self.proxies {
            let proxy = match scheme {
                Scheme::Https => Proxy::https(url),
                Scheme::Http => Proxy::http(url),
                Scheme::All => Proxy::all(url),
            };
            // The URL may carry a password, so the error does not repeat it.
            let proxy = proxy.map_err(|_| HttpSetupError(format!("the {scheme:?} proxy's address is not a URL")))?;
            builder = builder.proxy(proxy.no_proxy(NoProxy::from_string(&self.bypass)));
        }
        Ok(builder)
    }
}

impl std::fmt::Debug for ProxySettings {
    /// Leaves the URLs out: they may carry a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProxySettings").field("proxies", &self.proxies.len()).finish_non_exhaustive()
    }
}
