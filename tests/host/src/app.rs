//! Everything that the copies of one app share, and the copies themselves.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::HeaderMap;
use serde_json::Value;

use crate::{
    config::{Environment, HostConfig},
    dispatch::Outputs,
    edge::{EasyAuth, FrontEnd, Identity, Keys, Throttle},
    function::{AuthLevel, Function, FunctionSet},
    routing::RouteTable,
    worker::{LogBook, Worker},
};

/// Invocations wait this many initialization timeouts for the handler before the host gives up.
const READY_WAITS: u32 = 4;

/// Which of the two hosts is imitated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Azure: keys are enforced.
    Azure,
    /// `func start`: keys are not enforced, every caller is an administrator.
    #[default]
    CoreTools,
}

/// Limits that tests shorten, and behaviours that differ between host versions or plans.
#[derive(Clone, Debug)]
pub struct Knobs {
    /// Readiness budget instead of `initializationTimeout`.
    pub initialization_timeout: Option<Duration>,
    /// How long an invocation waits for the handler; by default four initialization timeouts.
    pub ready_wait: Option<Duration>,
    /// Limit of an invocation instead of `functionTimeout`.
    pub function_timeout: Option<Duration>,
    /// How long nothing may move through the proxy.
    pub proxy_inactivity: Duration,
    /// Largest request body in bytes; by default `FUNCTIONS_REQUEST_BODY_SIZE_LIMIT` or 104,857,600.
    pub body_limit: Option<usize>,
    /// Handler failures within half an hour that stop a copy of the host.
    pub strike_limit: u32,
    /// Whether missing execute bits are added before a start (Linux Consumption, Flex Consumption).
    pub make_executable: bool,
    /// Whether `/admin` and `/runtime` are closed to functions (hosts since mid-2026).
    pub reserved_route_guard: bool,
    /// Whether envelopes are sent in chunks, without `Content-Length`.
    pub chunked_envelopes: bool,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            initialization_timeout: None,
            ready_wait: None,
            function_timeout: None,
            proxy_inactivity: Duration::from_mins(4),
            body_limit: None,
            strike_limit: 3,
            make_executable: false,
            reserved_route_guard: true,
            chunked_envelopes: false,
        }
    }
}

/// One copy of the host with its own handler.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) worker: Worker,
    pub(crate) throttle: Throttle,
}

/// A loaded app.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) config: HostConfig,
    pub(crate) environment: Environment,
    pub(crate) functions: FunctionSet,
    pub(crate) routes: RouteTable,
    pub(crate) profile: Profile,
    pub(crate) keys: Keys,
    pub(crate) easy_auth: Option<EasyAuth>,
    pub(crate) front_end: Option<FrontEnd>,
    pub(crate) knobs: Knobs,
    pub(crate) body_limit: usize,
    /// Values of input bindings, by function and binding name.
    pub(crate) inputs: BTreeMap<(String, String), Value>,
    pub(crate) outputs: Outputs,
    pub(crate) log: Arc<LogBook>,
    pub(crate) copies: Vec<Copy>,
    pub(crate) turn: AtomicUsize,
}

impl App {
    pub(crate) fn initialization_timeout(&self) -> Duration {
        self.knobs.initialization_timeout.unwrap_or(self.config.initialization_timeout)
    }

    pub(crate) fn ready_wait(&self) -> Duration {
        self.knobs.ready_wait.unwrap_or_else(|| self.initialization_timeout() * READY_WAITS)
    }

    /// `None` means unlimited.
    pub(crate) fn function_timeout(&self) -> Option<Duration> {
        self.knobs.function_timeout.or(self.config.function_timeout)
    }

    pub(crate) fn guards_reserved_routes(&self) -> bool {
        let flags = self.environment.get("AzureWebJobsFeatureFlags").unwrap_or_default();
        let mut flags = flags.split(',').map(str::trim);
        self.knobs.reserved_route_guard
            && !flags.any(|flag| flag.eq_ignore_ascii_case("DisableReservedRouteEnforcement"))
    }

    /// A function by name, any case.
    pub(crate) fn function(&self, name: &str) -> Option<&Function> {
        self.functions.functions.iter().find(|function| function.name.eq_ignore_ascii_case(name))
    }

    /// Who a request comes from, as far as keys tell.
    pub(crate) fn identify(&self, headers: &HeaderMap, query: Option<&str>, function: Option<&str>) -> Identity {
        match self.profile {
            Profile::Azure => self.keys.identify(headers, query.unwrap_or_default(), function),
            Profile::CoreTools => Identity::new(AuthLevel::Admin, None),
        }
    }

    /// The next copy in turn that still runs; when none does, the next one, which then says so.
    pub(crate) fn next_copy(&self) -> Option<&Copy> {
        let start = self.turn.fetch_add(1, Ordering::Relaxed);
        let in_turn =
            (0..self.copies.len()).filter_map(|step| self.copies.get(start.wrapping_add(step) % self.copies.len()));
        in_turn.clone().find(|copy| copy.worker.stopped().is_none()).or_else(|| in_turn.clone().next())
    }
}
