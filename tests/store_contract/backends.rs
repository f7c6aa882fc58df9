//! The back ends under contract.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use a2a_functions::clock::{Clock, SystemRandom};
use a2a_functions::config::Environment;
use a2a_functions::http::HttpClient;
use a2a_functions::store::Store;
use a2a_functions::store::azure_table::{AzureTableSettings, AzureTableStore};
use a2a_functions::store::memory::MemoryStore;
use a2a_functions::store::sqlite::{SqliteSettings, SqliteStore};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::azurite::Azurite;

/// Every back end; a new one joins here and passes all contracts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    Memory,
    Sqlite,
    AzureTable,
}

impl Backend {
    pub(crate) const ALL: [Self; 3] = [Self::Memory, Self::Sqlite, Self::AzureTable];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "sqlite",
            Self::AzureTable => "azure_table",
        }
    }
}

/// Where one trial's records are.
pub(crate) enum Place {
    Memory(Arc<MemoryStore>),
    Sqlite(TempDir),
    AzureTable(AzureTableSettings),
}

impl Place {
    /// A place without records that no other trial knows.
    pub(crate) async fn fresh(backend: Backend, clock: Arc<dyn Clock>) -> Self {
        match backend {
            Backend::Memory => Self::Memory(Arc::new(MemoryStore::new(clock))),
            Backend::Sqlite => Self::Sqlite(tempfile::tempdir().expect("a temporary directory")),
            Backend::AzureTable => {
                Self::AzureTable(table_settings(emulator().await.connection_string(), &fresh_table()))
            }
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
            Self::AzureTable(settings) => Arc::new(table_store(settings.clone(), clock)),
        }
    }
}

static EMULATOR: OnceCell<Azurite> = OnceCell::const_new();

/// The emulator of this test process, started by the first trial that needs it. It ends with the process.
pub(crate) async fn emulator() -> &'static Azurite {
    EMULATOR.get_or_init(Azurite::start).await
}

/// A name for a table that no other trial uses.
pub(crate) fn fresh_table() -> String {
    static TABLES: AtomicU32 = AtomicU32::new(0);
    format!("trial{}", TABLES.fetch_add(1, Ordering::Relaxed))
}

/// Settings as the environment would give them.
pub(crate) fn table_settings(connection_string: &str, table: &str) -> AzureTableSettings {
    let environment = Environment::from([("AzureWebJobsStorage", connection_string), ("A2A_TABLE_NAME", table)]);
    AzureTableSettings::from_env(&environment).expect("the settings are right").expect("a source is set")
}

pub(crate) fn table_store(settings: AzureTableSettings, clock: Arc<dyn Clock>) -> AzureTableStore {
    AzureTableStore::new(settings, &HttpClient::from_env(&Environment::default()), clock, Arc::new(SystemRandom))
}
