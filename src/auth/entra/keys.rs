//! The keys that Entra signs with, kept per tenant and token version, and renewed without making callers wait for it.
//!
//! A set is fresh for an hour. An older one is still good for a day, so that an outage of the issuer is none of ours; a
//! key that is not in the set leads to one request for a newer set, and not to more than one in half a minute, because
//! the key's name is the caller's to choose.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jsonwebtoken::jwk::{Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use tokio::sync::{Mutex, RwLock};

use super::metadata::{Fetch, FetchError, Published};
use crate::auth::Refusal;
use crate::clock::{Clock, Timestamp};

/// How long a set is used without a look at whether there is a newer one.
const FRESH: Duration = Duration::from_secs(60 * 60);
/// How long a set is used at most when no newer one can be had.
const USABLE: Duration = Duration::from_secs(24 * 60 * 60);
/// The least time between two requests for a set.
const INTERVAL: Duration = Duration::from_secs(30);
/// Most keys of a set that are looked at. Entra publishes fewer than ten.
const MAX_KEYS: usize = 64;
/// What a token may be signed with. Only signatures that the holder of a public key cannot make (RFC 8725 section 3.1).
const ALGORITHMS: [(Algorithm, KeyAlgorithm); 3] = [
    (Algorithm::RS256, KeyAlgorithm::RS256),
    (Algorithm::PS256, KeyAlgorithm::PS256),
    (Algorithm::ES256, KeyAlgorithm::ES256),
];

/// Whether tokens signed with `algorithm` are looked at.
pub(super) fn is_allowed(algorithm: Algorithm) -> bool {
    ALGORITHMS.iter().any(|(allowed, _)| *allowed == algorithm)
}

/// The keys of one tenant for one version of tokens.
#[derive(Debug)]
pub(super) struct Keys {
    fetch: Box<dyn Fetch>,
    clock: Arc<dyn Clock>,
    current: RwLock<Option<Arc<KeySet>>>,
    /// When a set was last asked for. Whoever holds the lock is the one who asks.
    asked: Mutex<Option<Timestamp>>,
}

/// Keys by their ids, as published at one time.
#[derive(Debug)]
pub(super) struct KeySet {
    /// The issuer that the tenant's metadata name.
    pub(super) issuer: String,
    keys: HashMap<String, Key>,
    fetched: Timestamp,
}

/// A key of a set.
pub(super) struct Key {
    pub(super) decoding: DecodingKey,
    algorithm: Option<KeyAlgorithm>,
    /// The issuer that the key is for, where the set says so; with a placeholder for the tenant.
    issuer: Option<String>,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Key").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl Key {
    /// Whether the key may verify a token of this issuer that is signed with `algorithm`.
    pub(super) fn is_for(&self, algorithm: Algorithm, issuer: &str, tenant: &str) -> bool {
        let own = |own: &String| own.replace("{tenantid}", tenant) == issuer;
        let fits = ALGORITHMS
            .iter()
            .any(|(allowed, name)| *allowed == algorithm && self.algorithm.is_none_or(|own| own == *name));
        fits && self.decoding.family() == algorithm.family() && self.issuer.as_ref().is_none_or(own)
    }
}

impl KeySet {
    fn new(published: Published, fetched: Timestamp) -> Self {
        let usable = published.keys.into_iter().take(MAX_KEYS).filter_map(|(jwk, issuer)| key(&jwk, issuer));
        Self { issuer: published.issuer, keys: usable.collect(), fetched }
    }

    pub(super) fn get(&self, id: &str) -> Option<&Key> {
        self.keys.get(id)
    }
}

/// A key for signatures that has an id and a form that can be used; others are not for us.
fn key(jwk: &Jwk, issuer: Option<String>) -> Option<(String, Key)> {
    let common = &jwk.common;
    if !matches!(common.public_key_use, None | Some(PublicKeyUse::Signature)) {
        return None;
    }
    let decoding = DecodingKey::from_jwk(jwk).ok()?;
    Some((common.key_id.clone()?, Key { decoding, algorithm: common.key_algorithm, issuer }))
}

impl Keys {
    pub(super) fn new(fetch: Box<dyn Fetch>, clock: Arc<dyn Clock>) -> Self {
        Self { fetch, clock, current: RwLock::default(), asked: Mutex::default() }
    }

    /// A set with the key `id`.
    pub(super) async fn with(&self, id: &str) -> Result<Arc<KeySet>, Refusal> {
        let held = self.usable().await;
        let known = held.filter(|set| set.get(id).is_some());
        match known {
            Some(set) if self.age(set.fetched) < FRESH => return Ok(set),
            // Due for a look, but only one caller waits for that.
            Some(set) => match self.asked.try_lock() {
                Ok(mut asked) => self.renew(&mut asked).await,
                Err(_) => return Ok(set),
            },
            None => {
                let mut asked = self.asked.lock().await;
                // Whoever held the lock may have brought the key.
                if self.usable().await.is_none_or(|set| set.get(id).is_none()) {
                    self.renew(&mut asked).await;
                }
            }
        }
        let set = self.usable().await.ok_or(Refusal::KeysUnavailable)?;
        if set.get(id).is_some() { Ok(set) } else { Err(Refusal::UnknownKey) }
    }

    /// The set, unless it is too old to trust.
    async fn usable(&self) -> Option<Arc<KeySet>> {
        let set = self.current.read().await.clone()?;
        (self.age(set.fetched) < USABLE).then_some(set)
    }

    fn age(&self, since: Timestamp) -> Duration {
        since.until(self.clock.now())
    }

    /// Asks for a newer set, unless that was done a moment ago. A failure leaves the set that there is.
    async fn renew(&self, asked: &mut Option<Timestamp>) {
        if asked.is_some_and(|asked| self.age(asked) < INTERVAL) {
            return;
        }
        *asked = Some(self.clock.now());
        match self.fetch.fetch().await {
            Ok(published) => {
                let set = KeySet::new(published, self.clock.now());
                tracing::info!(issuer = set.issuer, keys = set.keys.len(), "signing keys were read");
                *self.current.write().await = Some(Arc::new(set));
            }
            Err(FetchError(reason)) => tracing::warn!(reason, "signing keys cannot be read"),
        }
    }
}

#[cfg(test)]
mod tests;
