//! The secret that signs context identifiers: configured, or made once and kept in the store.

use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use super::identity::{ContextIds, ContextRequest, ResolvedContext, looks_issued, resolve_unsigned};
use crate::agents::ContextPolicy;
use crate::clock::Random;
use crate::store::{Op, PartitionKey, RowKey, Store, StoreError, Write};

/// Shortest configured secret, in characters.
const MIN_SECRET_CHARS: usize = 32;

/// The configured secret is short enough to be guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("A2A_CONTEXT_SECRET must have at least {MIN_SECRET_CHARS} characters")]
pub struct SecretTooShort;

/// Finds out which context a request belongs to.
#[derive(Debug)]
pub struct Contexts {
    store: Arc<dyn Store>,
    random: Arc<dyn Random>,
    ids: OnceCell<ContextIds>,
}

impl Contexts {
    /// Signs with `secret`; without one, a secret is made at first need and shared through `store`.
    pub fn new(store: Arc<dyn Store>, random: Arc<dyn Random>, secret: Option<&str>) -> Result<Self, SecretTooShort> {
        let ids = match secret {
            Some(secret) if secret.chars().count() < MIN_SECRET_CHARS => return Err(SecretTooShort),
            Some(secret) => OnceCell::new_with(Some(ContextIds::new(Sha256::digest(secret).into()))),
            None => OnceCell::new(),
        };
        Ok(Self { store, random, ids })
    }

    /// Resolves a request's context under `policy`. The store is touched at most once in a process's life, and only for a
    /// signature.
    pub async fn resolve(
        &self,
        policy: ContextPolicy,
        request: &ContextRequest<'_>,
    ) -> Result<ResolvedContext, StoreError> {
        let foreign = request.requested.is_some_and(|id| !id.is_empty() && !looks_issued(id));
        if policy != ContextPolicy::Capability || foreign {
            return Ok(resolve_unsigned(policy, request));
        }
        let ids = self.ids.get_or_try_init(|| self.shared_ids()).await?;
        Ok(ids.resolve(request))
    }

    async fn shared_ids(&self) -> Result<ContextIds, StoreError> {
        let partition = PartitionKey::new("app").map_err(|_| StoreError::OutOfBounds("illegal partition name"))?;
        let row = RowKey::new("context-secret").map_err(|_| StoreError::OutOfBounds("illegal row name"))?;
        if let Some(record) = self.store.get(&partition, &row).await? {
            return decode(&record.value);
        }
        let secret = [self.random.bytes16(), self.random.bytes16()].concat();
        let write = Write { row: row.clone(), value: Bytes::from(secret.clone()), expires: None };
        match self.store.commit(&partition, &[Op::Insert(write)]).await {
            Ok(_) => decode(&secret),
            // Another process was first; its secret is the one.
            Err(StoreError::Conflict { .. }) => match self.store.get(&partition, &row).await? {
                Some(record) => decode(&record.value),
                None => Err(StoreError::Corrupt("the shared secret vanished".to_owned())),
            },
            Err(error) => Err(error),
        }
    }
}

fn decode(secret: &[u8]) -> Result<ContextIds, StoreError> {
    let secret =
        secret.try_into().map_err(|_| StoreError::Corrupt("the shared secret does not have 32 bytes".to_owned()))?;
    Ok(ContextIds::new(secret))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{SystemClock, SystemRandom};
    use crate::context::ResolvedKind;
    use crate::store::memory::MemoryStore;

    fn contexts(store: &Arc<dyn Store>, secret: Option<&str>) -> Result<Contexts, SecretTooShort> {
        Contexts::new(Arc::clone(store), Arc::new(SystemRandom), secret)
    }

    fn request(requested: Option<&str>) -> ContextRequest<'_> {
        ContextRequest { scope: "anonymous", slug: "main", requested, seed: [5; 16] }
    }

    #[tokio::test]
    async fn processes_that_share_a_store_accept_each_others_capabilities() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        let (one, two) = (contexts(&store, None).unwrap(), contexts(&store, None).unwrap());
        let issued = one.resolve(ContextPolicy::Capability, &request(None)).await.unwrap();
        let continued = two.resolve(ContextPolicy::Capability, &request(Some(&issued.id))).await.unwrap();
        assert_eq!((issued.kind, continued.kind), (ResolvedKind::Issued, ResolvedKind::Continued));
        assert_eq!(issued.session_id, continued.session_id);
    }

    #[test]
    fn a_short_secret_is_refused() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
        assert_eq!(contexts(&store, Some("hunter2")).unwrap_err(), SecretTooShort);
    }
}
