//! Who calls: every request to an agent passes here before anything else is known about it.

mod entra;
mod keys;
mod refusal;

use std::sync::Arc;

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, Uri};
use sha2::Sha256;

pub use entra::{AuthorityHost, AuthorityHostError, Entra};
pub use keys::{KeyRing, KeyRingError, Level};
pub use refusal::{Answer, Refusal};

use crate::agents::{AuthMode, HttpAuth};
use crate::host_traits::HostTraits;

/// Header that carries a function key; wins over the query.
pub const KEY_HEADER: &str = "x-functions-key";
/// Query parameter that carries a function key.
const KEY_PARAMETER: &str = "code";
/// Longest key that is looked at, in bytes. The host's own keys have 56 characters.
const MAX_KEY_BYTES: usize = 1024;

/// An authenticated caller. Only [`Authenticator::authenticate`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    scope: String,
    kind: CallerKind,
}

/// How a caller proved who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerKind {
    /// A function key.
    Key,
    /// The master key.
    Admin,
    /// A token of Microsoft Entra ID, or a principal of App Service Authentication.
    Entra,
    /// Nothing was asked for.
    Anonymous,
}

impl Caller {
    /// The unit of isolation: what one scope stores, no other sees. Holds no secret.
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// How the caller proved who it is.
    pub fn kind(&self) -> CallerKind {
        self.kind
    }
}

/// Authenticates callers by the rules of an agent's `http_auth`.
#[derive(Debug, Clone)]
pub struct Authenticator {
    host: HostTraits,
    ring: Arc<KeyRing>,
    entra: Arc<Entra>,
}

impl Authenticator {
    /// Checks keys against `ring` unless the host has done so. The ring names callers either way.
    pub fn new(host: HostTraits, ring: Arc<KeyRing>, entra: Arc<Entra>) -> Self {
        Self { host, ring, entra }
    }

    /// The caller behind a request's headers and query.
    pub async fn authenticate(&self, auth: &HttpAuth, headers: &HeaderMap, uri: &Uri) -> Result<Caller, Refusal> {
        match auth.mode {
            AuthMode::Anonymous => Ok(Caller { scope: "anonymous".to_owned(), kind: CallerKind::Anonymous }),
            AuthMode::Function => self.by_key(Level::Function, headers, uri),
            AuthMode::Admin => self.by_key(Level::Admin, headers, uri),
            AuthMode::Entra => {
                let policy = auth.entra.as_ref().ok_or(Refusal::NotConfigured)?;
                let scope = self.entra.authenticate(policy, headers).await?;
                Ok(Caller { scope, kind: CallerKind::Entra })
            }
        }
    }

    fn by_key(&self, required: Level, headers: &HeaderMap, uri: &Uri) -> Result<Caller, Refusal> {
        let Some(key) = presented_key(headers, uri) else {
            // Developer tools let callers in without a key. A deployed host never does, so a missing key there means that
            // the route is not protected as the agent demands.
            return if self.host.checks_keys && self.host.development {
                Ok(caller(required, "development"))
            } else {
                Err(Refusal::NoKey)
            };
        };
        match self.ring.find(key.as_bytes()) {
            Some((_, Level::Admin)) => Ok(caller(Level::Admin, "")),
            Some((name, Level::Function)) if required == Level::Function => Ok(caller(Level::Function, name)),
            _ if self.host.checks_keys => Ok(caller(required, &key_fingerprint(key.as_bytes()))),
            _ => Err(Refusal::WrongKey),
        }
    }
}

fn caller(level: Level, name: &str) -> Caller {
    match level {
        Level::Admin => Caller { scope: "admin".to_owned(), kind: CallerKind::Admin },
        Level::Function => Caller { scope: format!("key:{name}"), kind: CallerKind::Key },
    }
}

/// The key of a request, chosen as the Functions host does it: the header's first value when the header is there, even an
/// empty one, else the query's.
fn presented_key<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<std::borrow::Cow<'a, str>> {
    let key = match headers.get(KEY_HEADER) {
        Some(value) => std::borrow::Cow::Borrowed(value.to_str().ok()?),
        None => url::form_urlencoded::parse(uri.query()?.as_bytes()).find(|(name, _)| name == KEY_PARAMETER)?.1,
    };
    (!key.is_empty() && key.len() <= MAX_KEY_BYTES).then_some(key)
}

/// A stable name for a key that the host knows and we do not: two keys are two callers, and the name does not give the key
/// away.
fn key_fingerprint(key: &[u8]) -> String {
    let mut block = [0; 64];
    let label = b"a2a-functions key scope v1";
    block[..label.len()].copy_from_slice(label);
    let mut code = Hmac::<Sha256>::new(&block.into());
    code.update(key);
    HEXLOWER.encode(&code.finalize().into_bytes()[..16])
}

#[cfg(test)]
mod tests;
