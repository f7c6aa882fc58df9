//! The back ends under contract.

use std::sync::Arc;

use a2a_functions::clock::Clock;
use a2a_functions::store::Store;
use a2a_functions::store::memory::MemoryStore;

/// Every back end; a new one joins here and passes all contracts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Memory,
}

impl Backend {
    pub(crate) const ALL: [Self; 1] = [Self::Memory];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
        }
    }
}

/// Where one trial's records are.
pub(crate) enum Place {
    Memory(Arc<MemoryStore>),
}

impl Place {
    /// A place without records that no other trial knows.
    pub(crate) fn fresh(backend: Backend, clock: Arc<dyn Clock>) -> Self {
        match backend {
            Backend::Memory => Self::Memory(Arc::new(MemoryStore::new(clock))),
        }
    }

    /// A further handle on the records of this place.
    pub(crate) fn open(&self, _clock: Arc<dyn Clock>) -> Arc<dyn Store> {
        match self {
            Self::Memory(store) => store.clone(),
        }
    }
}
