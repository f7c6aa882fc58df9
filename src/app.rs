//! Assembly: the only file that names concrete stores, runners and ways of authentication.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::admission::{Admission, Capacity};
use crate::agents::card::{CardError, ServedCard};
use crate::agents::{Agent, AuthMode, Catalog};
use crate::auth::{Authenticator, AuthorityHost, AuthorityHostError, Entra, KeyRing, KeyRingError};
use crate::clock::{Clock, Random, SystemClock, SystemRandom};
use crate::config::{Environment, variables};
use crate::context::{Contexts, LeaseTimes, SecretTooShort};
use crate::edge::authority::{Authorities, AuthorityError};
use crate::edge::{Door, Site};
use crate::host_traits::HostTraits;
use crate::http::HttpClient;
use crate::runner::Runner;
use crate::runner::select::{RunnerParts, select};
use crate::runner::settings::{RunnerSettings, SettingsError};
use crate::service::{ServedAgent, Service};
use crate::store::Store;
use crate::store::memory::MemoryStore;

/// How long a crashed process keeps a context from others, in seconds, unless it is configured.
const DEFAULT_LEASE: u64 = 15;
/// Shorter leases would be lost to pauses that are no crash, longer ones help nobody.
const LEASE_RANGE: std::ops::RangeInclusive<u64> = 2..=300;

/// Where state is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreChoice {
    /// In this process, until it ends.
    Memory,
    /// In a file.
    Sqlite(PathBuf),
    /// In Azure Tables.
    AzureTable,
}

/// A store cannot be chosen by this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a store; choose memory, sqlite:PATH or azure-table")]
pub struct UnknownStore(String);

impl std::str::FromStr for StoreChoice {
    type Err = UnknownStore;

    fn from_str(text: &str) -> Result<Self, UnknownStore> {
        match text.split_once(':') {
            None if text == "memory" => Ok(Self::Memory),
            None if text == "azure-table" => Ok(Self::AzureTable),
            Some(("sqlite", path)) if !path.is_empty() => Ok(Self::Sqlite(PathBuf::from(path))),
            _ => Err(UnknownStore(text.to_owned())),
        }
    }
}

/// Why an app cannot be put together. Each says what to set.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// No agent declares an A2A endpoint.
    #[error("no agent of {0} declares builtin_endpoints.a2a, so there is nothing to serve")]
    NothingToServe(String),
    /// The key ring cannot be read.
    #[error(transparent)]
    Keys(#[from] KeyRingError),
    /// Agents ask for keys and there are none.
    #[error(
        "agents with http_auth function or admin need keys here: set A2A_FUNCTION_KEYS to entries such as \
         ci=sha256:<hash>, or bind to loopback, where a key is made for each run"
    )]
    NoKeys,
    /// The lists of hosts and origins cannot be read.
    #[error(transparent)]
    Authorities(#[from] AuthorityError),
    /// The service that issues tokens cannot be trusted.
    #[error(transparent)]
    Authority(#[from] AuthorityHostError),
    /// The provider's settings are wrong.
    #[error(transparent)]
    Runner(#[from] SettingsError),
    /// The secret of context identifiers is too short.
    #[error(transparent)]
    Secret(#[from] SecretTooShort),
    /// A card cannot be built.
    #[error(transparent)]
    Card(#[from] CardError),
    /// The lease is not a number of seconds that makes sense.
    #[error("A2A_CONTEXT_LEASE_SECONDS is {0:?}; give whole seconds from 2 to 300")]
    Lease(String),
    /// The store's settings are wrong.
    #[error("{0}")]
    Store(String),
    /// The store is not part of this build.
    #[error("this build has no store {0}: build with the cargo feature {1}")]
    StoreNotBuilt(&'static str, &'static str),
}

/// What an app is put together from.
#[derive(Debug)]
pub struct AppParts<'a> {
    /// The agents.
    pub catalog: &'a Catalog,
    /// Variables of the process and of `local.settings.json`.
    pub environment: &'a Environment,
    /// The host.
    pub host: HostTraits,
    /// The store.
    pub store: StoreChoice,
    /// The process serves a developer on the same machine: canned replies stand in for a model, and a key is made up when
    /// none is set.
    pub local: bool,
}

/// An app, ready to answer requests. Nothing has been connected to yet.
#[derive(Debug)]
pub struct App {
    /// What answers requests.
    pub door: Door,
    /// A key that was made up for this run.
    pub made_up_key: Option<String>,
}

impl App {
    /// Puts an app together.
    pub fn build(parts: &AppParts<'_>) -> Result<Self, AppError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let random: Arc<dyn Random> = Arc::new(SystemRandom);
        let store = open_store(&parts.store, parts.environment, &clock, &random)?;
        let runner = runner(parts, &clock, &random)?;
        Self::over(parts, store, runner)
    }

    /// Puts an app together over a store and a runner that exist already, whatever `parts` says of either.
    pub fn over(parts: &AppParts<'_>, store: Arc<dyn Store>, runner: Arc<dyn Runner>) -> Result<Self, AppError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let random: Arc<dyn Random> = Arc::new(SystemRandom);
        let (ring, made_up_key) = key_ring(parts, &*random)?;
        let sites = sites(parts.catalog)?;
        let service = Arc::new(service(parts, store, runner, &clock, &random)?);
        let door = Door::new(
            parts.host,
            &parts.catalog.route_prefix,
            authorities(parts)?,
            Authenticator::new(parts.host, Arc::new(ring), Arc::new(entra(parts, &clock)?)),
            sites,
            service,
        );
        Ok(Self { door, made_up_key })
    }
}

fn open_store(
    choice: &StoreChoice,
    environment: &Environment,
    clock: &Arc<dyn Clock>,
    random: &Arc<dyn Random>,
) -> Result<Arc<dyn Store>, AppError> {
    let clock = Arc::clone(clock);
    match choice {
        StoreChoice::Memory => Ok(Arc::new(MemoryStore::new(clock))),
        StoreChoice::Sqlite(path) => sqlite(path, clock),
        StoreChoice::AzureTable => azure_table(environment, clock, Arc::clone(random)),
    }
}

#[cfg(feature = "sqlite")]
#[expect(clippy::unnecessary_wraps, reason = "builds without the back end fail here")]
fn sqlite(path: &Path, clock: Arc<dyn Clock>) -> Result<Arc<dyn Store>, AppError> {
    use crate::store::sqlite::{SqliteSettings, SqliteStore};
    Ok(Arc::new(SqliteStore::new(SqliteSettings::new(path), clock)))
}

#[cfg(not(feature = "sqlite"))]
fn sqlite(_: &Path, _: Arc<dyn Clock>) -> Result<Arc<dyn Store>, AppError> {
    Err(AppError::StoreNotBuilt("sqlite", "sqlite"))
}

#[cfg(feature = "azure")]
fn azure_table(
    environment: &Environment,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
) -> Result<Arc<dyn Store>, AppError> {
    use crate::store::azure_table::{AzureTableSettings, AzureTableStore};
    let settings = AzureTableSettings::from_env(environment).map_err(|error| AppError::Store(error.to_string()))?;
    let settings = settings.ok_or_else(|| AppError::Store(NO_TABLE.to_owned()))?;
    let http = HttpClient::from_env(environment);
    Ok(Arc::new(AzureTableStore::new(settings, &http, clock, random)))
}

/// What to do when nothing says where the table is.
#[cfg(feature = "azure")]
const NO_TABLE: &str = "the store azure-table needs AzureWebJobsStorage (a connection string), \
                        AzureWebJobsStorage__tableServiceUri (with a managed identity), A2A_TABLE_CONNECTION_STRING or \
                        A2A_TABLE_SAS_URL; choose another store with --store or A2A_STORE to go without";

#[cfg(not(feature = "azure"))]
fn azure_table(_: &Environment, _: Arc<dyn Clock>, _: Arc<dyn Random>) -> Result<Arc<dyn Store>, AppError> {
    Err(AppError::StoreNotBuilt("azure-table", "azure"))
}

fn key_ring(parts: &AppParts<'_>, random: &dyn Random) -> Result<(KeyRing, Option<String>), AppError> {
    let ring = KeyRing::parse(parts.environment.get(variables::FUNCTION_KEYS.name).unwrap_or_default())?;
    let asks_for_keys = |agent: &&Arc<Agent>| {
        agent.a2a.is_some() && matches!(agent.http_auth.mode, AuthMode::Function | AuthMode::Admin)
    };
    let needed = !parts.host.checks_keys && parts.catalog.agents.iter().any(|agent| asks_for_keys(&agent));
    match (ring.is_empty() && needed, parts.local) {
        (false, _) => Ok((ring, None)),
        (true, true) => {
            let (ring, key) = KeyRing::ephemeral(random);
            Ok((ring, Some(key)))
        }
        (true, false) => Err(AppError::NoKeys),
    }
}

fn entra(parts: &AppParts<'_>, clock: &Arc<dyn Clock>) -> Result<Entra, AuthorityHostError> {
    let authority = AuthorityHost::parse(parts.environment.get_filled(variables::AUTHORITY_HOST.name))?;
    let tenants = parts.catalog.agents.iter().filter_map(|agent| {
        let served = agent.a2a.is_some() && agent.http_auth.mode == AuthMode::Entra;
        agent.http_auth.entra.as_ref().filter(|_| served)?.tenant_id.as_deref()
    });
    let http = HttpClient::from_env(parts.environment);
    Ok(Entra::new(tenants, &authority, &http, clock, parts.host.vouches_for_principals))
}

fn sites(catalog: &Catalog) -> Result<Vec<Site>, AppError> {
    let mut sites = Vec::new();
    for agent in &catalog.agents {
        let bound = catalog.limits.executions_per_agent;
        let (Some(endpoint), Some(served)) = (&agent.a2a, ServedAgent::new(Arc::clone(agent), bound)) else {
            continue;
        };
        let card = ServedCard::build(agent, endpoint, last_change(catalog, agent))?;
        sites.push(Site { agent: Arc::new(served), card });
    }
    if sites.is_empty() {
        return Err(AppError::NothingToServe(catalog.root.display().to_string()));
    }
    Ok(sites)
}

/// When the files that a card is made from last changed: the agent's own and the app's settings.
fn last_change(catalog: &Catalog, agent: &Agent) -> SystemTime {
    [Path::new(&agent.source_file), Path::new("agents.config.yaml")]
        .iter()
        .filter_map(|file| std::fs::metadata(catalog.root.join(file)).ok()?.modified().ok())
        .max()
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

fn runner(
    parts: &AppParts<'_>,
    clock: &Arc<dyn Clock>,
    random: &Arc<dyn Random>,
) -> Result<Arc<dyn Runner>, SettingsError> {
    let settings = RunnerSettings::from_env(parts.environment)?;
    let http = HttpClient::from_env(parts.environment);
    let runner_parts = RunnerParts { http, clock: Arc::clone(clock), random: Arc::clone(random) };
    Ok(select(&settings, parts.local, runner_parts))
}

fn service(
    parts: &AppParts<'_>,
    store: Arc<dyn Store>,
    runner: Arc<dyn Runner>,
    clock: &Arc<dyn Clock>,
    random: &Arc<dyn Random>,
) -> Result<Service, AppError> {
    let limits = &parts.catalog.limits;
    let lease = lease(parts.environment)?;
    let times = LeaseTimes { duration: lease, retention: limits.context_retention };
    let secret = parts.environment.get_filled(variables::CONTEXT_SECRET.name);
    let capacity = limits
        .global_executions
        .map(|slots| Arc::new(Capacity::new(Arc::clone(&store), Arc::clone(clock), Arc::clone(random), slots, lease)));
    let contexts =
        Contexts::new(Arc::clone(&store), Arc::clone(clock), Arc::clone(random), limits.context_retention, secret)?;
    Ok(Service {
        admission: Admission::new(store, Arc::clone(clock), Arc::clone(random), times),
        capacity,
        contexts,
        runner,
        random: Arc::clone(random),
    })
}

fn lease(environment: &Environment) -> Result<Duration, AppError> {
    let Some(text) = environment.get_filled(variables::CONTEXT_LEASE.name) else {
        return Ok(Duration::from_secs(DEFAULT_LEASE));
    };
    match text.parse() {
        Ok(seconds) if LEASE_RANGE.contains(&seconds) => Ok(Duration::from_secs(seconds)),
        _ => Err(AppError::Lease(text.to_owned())),
    }
}

fn authorities(parts: &AppParts<'_>) -> Result<Authorities, AuthorityError> {
    let variable = |variable: variables::Variable| parts.environment.get(variable.name).unwrap_or_default();
    let urls = parts.catalog.agents.iter().filter_map(|agent| Some(agent.a2a.as_ref()?.url.as_str()));
    let mut hosts = variable(variables::ALLOWED_HOSTS).to_owned();
    if let Some(site) = parts.environment.get_filled(variables::WEBSITE_HOSTNAME.name) {
        // Local tools put the port into it.
        let name = site.rsplit_once(':').map_or(site, |(name, _)| name);
        hosts = format!("{hosts},{name}");
    }
    let origins = variable(variables::ALLOWED_ORIGINS);
    Authorities::new(urls, &hosts, origins, parts.host.checks_authority, parts.host.forwards_host)
}
