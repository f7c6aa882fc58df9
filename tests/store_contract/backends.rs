//! The back ends under contract.

use std::sync::Arc;

use a2a_functions::clock::Clock;
use a2a_functions::store::Store;
use a2a_functions::store::memory::MemoryStore;
use a2a_functions::store::sqlite::{SqliteSettings, SqliteStore};
use tempfile::TempDir;

/// Every back end; a new one joins here and passes all contracts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Memory,
    Sqlite,
}

impl Backend {
    pub(crate) const ALL: [Self; 2] = [Self::Memory, Self::Sqlite];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "sqlite",
        }
    }
}

/// Where one trial's records are.
pub(crate) enum Place {
    Memory(Arc<MemoryStore>),
    Sqlite(TempDir),
}

impl Place {
    /// A place without records that no other trial knows.
    pub(crate) fn fresh(backend: Backend, clock: Arc<dyn Clock>) -> Self {
        match backend {
            Backend::Memory => Self::Memory(Arc::new(MemoryStore::new(clock))),
            Backend::Sqlite => Self::Sqlite(tempfile::tempdir().expect("a temporary directory")),
        }
    }

    /// A further handle on the records of this place.
    pub(crate) fn open(&self, clock: Arc<dyn Clock>) -> Arc<dyn Store> {
        match self {
            Self::Memory(store) => store.clone(),
            Self::Sqlite(directory) => {
                let settings = SqliteSettings::new(directory.path().join("state/records.sqlite"));
                Arc::new(SqliteStore::new(settings, clock))
            }
        }
    }
}
