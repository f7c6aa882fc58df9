//! Setting up a host.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use serde_json::Value;
use tokio::{net::TcpListener, task::JoinSet};
use uuid::Uuid;

use super::FunctionsHost;
use crate::{
    app::{App, Copy, Knobs, Profile},
    config::{ConfigError, Environment, HostConfig, read_json},
    dispatch::Outputs,
    edge::{EasyAuth, FrontEnd, Keys, Target, Throttle, bind, serve},
    function::{self, FunctionSet},
    routing::{RouteTable, TemplateError},
    worker::{HandlerPort, LogBook, LogLevel, Worker, WorkerSettings, WorkerTask, supervise},
};

const DEFAULT_BODY_LIMIT: usize = 104_857_600;
/// Added to the function timeout to bound one request to the handler.
const REQUEST_GRACE: Duration = Duration::from_mins(1);

/// A host could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The app's configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// `routePrefix` together with a route is no valid template.
    #[error(transparent)]
    Route(#[from] TemplateError),
    /// A port cannot be bound.
    #[error("cannot listen on port {port}")]
    Listen {
        /// The port that was asked for; 0 is any.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// At least one copy is needed.
    #[error("a host needs at least one copy")]
    NoCopies,
}

/// Collects what a host needs; see [`FunctionsHost::builder`].
#[derive(Debug)]
pub struct Builder {
    app_root: PathBuf,
    executable: Option<PathBuf>,
    environment: BTreeMap<String, String>,
    inherits: bool,
    port: u16,
    copies: usize,
    profile: Profile,
    keys: Keys,
    easy_auth: Option<EasyAuth>,
    front_end: Option<FrontEnd>,
    inputs: BTreeMap<(String, String), Value>,
    knobs: Knobs,
}

impl Builder {
    pub(super) fn new(app_root: impl Into<PathBuf>) -> Self {
        Self {
            app_root: app_root.into(),
            executable: None,
            environment: BTreeMap::new(),
            inherits: true,
            port: 0,
            copies: 1,
            profile: Profile::default(),
            keys: Keys::default(),
            easy_auth: None,
            front_end: None,
            inputs: BTreeMap::new(),
            knobs: Knobs::default(),
        }
    }

    /// Starts this executable instead of the one host.json names; its arguments still come from host.json.
    #[must_use]
    pub fn executable_override(mut self, path: impl Into<PathBuf>) -> Self {
        self.executable = Some(path.into());
        self
    }

    /// Adds an app setting. It wins over the inherited environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.insert(name.into(), value.into());
        self
    }

    /// Starts from an empty environment (but for `PATH`) instead of this process's own, so that a test does not depend
    /// on who runs it.
    #[must_use]
    pub fn without_inherited_env(mut self) -> Self {
        self.inherits = false;
        self
    }

    /// Listens on this port of 127.0.0.1; 0, the default, is any free one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Runs this many copies of the host, each with its own handler, behind a round robin.
    #[must_use]
    pub fn copies(mut self, copies: usize) -> Self {
        self.copies = copies;
        self
    }

    /// Imitates this host; by default Core Tools.
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// The access keys, enforced by [`Profile::Azure`] only.
    #[must_use]
    pub fn keys(mut self, keys: Keys) -> Self {
        self.keys = keys;
        self
    }

    /// Switches App Service Authentication on.
    #[must_use]
    pub fn easy_auth(mut self, easy_auth: EasyAuth) -> Self {
        self.easy_auth = Some(easy_auth);
        self
    }

    /// Puts the platform's front end before the host.
    #[must_use]
    pub fn front_end(mut self, front_end: FrontEnd) -> Self {
        self.front_end = Some(front_end);
        self
    }

    /// The value that an input binding of a function delivers.
    #[must_use]
    pub fn input(mut self, function: impl Into<String>, binding: impl Into<String>, value: Value) -> Self {
        self.inputs.insert((function.into(), binding.into()), value);
        self
    }

    /// Replaces all limits.
    #[must_use]
    pub fn knobs(mut self, knobs: Knobs) -> Self {
        self.knobs = knobs;
        self
    }

    /// Loads the app, starts the handlers and listens. Does not wait for the handlers: requests do, and
    /// [`FunctionsHost::ready`] does.
    pub async fn start(self) -> Result<FunctionsHost, StartError> {
        if self.copies == 0 {
            return Err(StartError::NoCopies);
        }
        let listen = |port| async move { bind(port).await.map_err(|source| StartError::Listen { port, source }) };
        let round_robin = listen(self.port).await?;
        let mut single = Vec::new();
        for _ in 0..self.copies {
            single.push(listen(0).await?);
        }
        let app_root = std::path::absolute(&self.app_root)
            .map_err(|source| ConfigError::Read { path: self.app_root.clone(), source })?;
        let environment = self.environment(&app_root, &address(&round_robin)?)?;
        let config = HostConfig::load(&app_root, &environment, self.executable.as_deref())?;
        if let (Some(port), 2..) = (config.port, self.copies) {
            return Err(ConfigError::SharedPort { port, copies: self.copies }.into());
        }
        let functions = function::load(&app_root, &config, &environment)?;
        let (app, tasks) = self.assemble(config, environment, functions)?;
        run(&app_root, Arc::new(app), tasks, round_robin, single)
    }

    /// What the host process has in its environment: inherited, then the platform's, then app settings.
    fn environment(&self, app_root: &Path, address: &str) -> Result<Environment, ConfigError> {
        let inherited = Environment::inherited();
        let mut environment = Environment::default();
        let kept = inherited.iter().filter(|(name, _)| self.inherits || *name == "PATH");
        for (name, value) in kept {
            environment.set(name, value);
        }
        for (name, value) in &self.environment {
            environment.set(name, value);
        }
        environment.set_default("WEBSITE_HOSTNAME", address);
        match self.profile {
            Profile::CoreTools => {
                environment.set_default("AZURE_FUNCTIONS_ENVIRONMENT", "Development");
                environment.set_default("FUNCTIONS_CORETOOLS_ENVIRONMENT", "True");
                add_local_settings(&mut environment, app_root)?;
            }
            Profile::Azure => environment.set_default("WEBSITE_SITE_NAME", "functions-test-host"),
        }
        if self.easy_auth.is_some() {
            environment.set("WEBSITE_AUTH_ENABLED", "True");
        }
        Ok(environment)
    }

    fn assemble(
        self,
        config: HostConfig,
        environment: Environment,
        functions: FunctionSet,
    ) -> Result<(App, Vec<WorkerTask>), StartError> {
        let routes = RouteTable::new(&config.http.route_prefix, &functions.functions)?;
        let environment_limit =
            environment.get("FUNCTIONS_REQUEST_BODY_SIZE_LIMIT").and_then(|text| text.trim().parse().ok());
        let log = Arc::new(LogBook::default());
        for error in &functions.errors {
            log.host(0, LogLevel::Error, error.to_string());
        }
        let mut tasks = Vec::new();
        let mut copies = Vec::new();
        for copy in 0..self.copies {
            let port = HandlerPort::reserve(config.port)
                .map_err(|source| StartError::Listen { port: config.port.unwrap_or(0), source })?;
            let (worker, task) = Worker::new(copy, port);
            tasks.push(task);
            copies.push(Copy { worker, throttle: Throttle::new(&config.http) });
        }
        let app = App {
            routes,
            profile: self.profile,
            keys: self.keys,
            easy_auth: self.easy_auth,
            front_end: self.front_end,
            body_limit: self.knobs.body_limit.or(environment_limit).unwrap_or(DEFAULT_BODY_LIMIT),
            knobs: self.knobs,
            inputs: self.inputs,
            outputs: Outputs::default(),
            log,
            copies,
            turn: AtomicUsize::new(0),
            config,
            environment,
            functions,
        };
        Ok((app, tasks))
    }
}

fn run(
    app_root: &Path,
    app: Arc<App>,
    handlers: Vec<WorkerTask>,
    round_robin: TcpListener,
    single: Vec<TcpListener>,
) -> Result<FunctionsHost, StartError> {
    let base_url = format!("http://{}", address(&round_robin)?);
    let mut copy_urls = Vec::new();
    let mut tasks = JoinSet::new();
    tasks.spawn(serve(round_robin, Arc::clone(&app), Target::RoundRobin));
    for (copy, listener) in single.into_iter().enumerate() {
        copy_urls.push(format!("http://{}", address(&listener)?));
        tasks.spawn(serve(listener, Arc::clone(&app), Target::Only(copy)));
    }
    let mut supervisors = JoinSet::new();
    for task in handlers {
        // Without functions the host starts no handler.
        if !app.functions.functions.is_empty() {
            supervisors.spawn(supervise(worker_settings(&app, app_root, &task), task));
        }
    }
    Ok(FunctionsHost { app, base_url, copy_urls, servers: tasks, supervisors })
}

fn worker_settings(app: &App, app_root: &Path, task: &WorkerTask) -> WorkerSettings {
    let mut environment = app.environment.clone();
    if app.profile == Profile::Azure {
        environment.set_default("WEBSITE_INSTANCE_ID", &Uuid::new_v4().simple().to_string());
    }
    WorkerSettings {
        copy: task.copy,
        app_root: app_root.to_owned(),
        description: app.config.description.clone(),
        environment,
        port: task.port.number(),
        initialization_timeout: app.initialization_timeout(),
        probe_timeout: app.function_timeout().map_or(Duration::MAX, |limit| limit + REQUEST_GRACE),
        strike_limit: app.knobs.strike_limit,
        make_executable: app.knobs.make_executable,
        log: Arc::clone(&app.log),
    }
}

fn address(listener: &TcpListener) -> Result<String, StartError> {
    match listener.local_addr() {
        Ok(address) => Ok(address.to_string()),
        Err(source) => Err(StartError::Listen { port: 0, source }),
    }
}

/// Adds `Values` of local.settings.json; what the environment already has stays.
fn add_local_settings(environment: &mut Environment, app_root: &Path) -> Result<(), ConfigError> {
    let path = app_root.join("local.settings.json");
    if !path.exists() {
        return Ok(());
    }
    let document = read_json(&path)?;
    let values = document.get("Values").and_then(Value::as_object);
    for (name, value) in values.into_iter().flatten() {
        if let Some(value) = value.as_str() {
            environment.set_default(name, value);
        }
    }
    Ok(())
}
