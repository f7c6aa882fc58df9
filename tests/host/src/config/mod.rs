//! host.json: what the host reads from it, with the profile below and app settings above.

mod environment;
mod error;
mod settings;
mod timespan;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};

pub(crate) use self::{environment::Environment, settings::Settings, timespan::parse_timespan};
use crate::function::AuthLevel;

pub use self::error::ConfigError;

const DEFAULT_FUNCTION_TIMEOUT: Duration = Duration::from_mins(30);
const DEFAULT_INITIALIZATION_TIMEOUT: Duration = Duration::from_secs(30);
const DEFAULT_MAX_DEQUEUE_COUNT: u32 = 5;

/// How an HTTP-in, HTTP-out function reaches the handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpMode {
    /// A JSON envelope is posted to `/<FunctionName>`.
    Envelope,
    /// The request is rebuilt and buffered (`enableForwardingHttpRequest`).
    Forward,
    /// The request is streamed through (`enableProxyingHttpRequest`).
    Proxy,
}

/// The `customHandler.description` section.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    pub(crate) executable: String,
    pub(crate) worker_path: Option<String>,
    pub(crate) arguments: Vec<String>,
    pub(crate) worker_arguments: Vec<String>,
    pub(crate) worker_directory: PathBuf,
    pub(crate) working_directory: PathBuf,
    pub(crate) stderr_is_errors: bool,
}

/// One entry of `customHandler.http.routes`.
#[derive(Clone, Debug)]
pub(crate) struct RouteEntry {
    pub(crate) route: Option<String>,
    pub(crate) level: AuthLevel,
}

/// The `extensions.http` section.
#[derive(Clone, Debug)]
pub(crate) struct HttpOptions {
    pub(crate) route_prefix: String,
    pub(crate) max_outstanding: Option<usize>,
    pub(crate) max_concurrent: Option<usize>,
    pub(crate) custom_headers: BTreeMap<String, String>,
}

/// host.json as the host understands it.
#[derive(Clone, Debug)]
pub(crate) struct HostConfig {
    pub(crate) description: Description,
    pub(crate) mode: HttpMode,
    pub(crate) port: Option<u16>,
    pub(crate) initialization_timeout: Duration,
    /// `None` means unlimited.
    pub(crate) function_timeout: Option<Duration>,
    pub(crate) routes: Vec<RouteEntry>,
    pub(crate) http: HttpOptions,
    pub(crate) max_dequeue_count: u32,
}

impl HostConfig {
    /// Reads `host.json` of an app folder. `environment` supplies app settings; `executable` replaces the configured one.
    pub(crate) fn load(
        app_root: &Path,
        environment: &Environment,
        executable: Option<&Path>,
    ) -> Result<Self, ConfigError> {
        let settings = layered(&read_json(&app_root.join("host.json"))?, environment)?;
        let routes = route_entries(&settings)?;
        Ok(Self {
            description: description(&settings, app_root, environment, executable)?,
            mode: http_mode(&settings)?,
            port: fixed_port(&settings)?,
            initialization_timeout: timespan(&settings, "customHandler:initializationTimeout")?
                .unwrap_or(DEFAULT_INITIALIZATION_TIMEOUT),
            function_timeout: function_timeout(&settings)?,
            routes,
            http: http_options(&settings)?,
            max_dequeue_count: number(&settings, "extensions:queues:maxDequeueCount")?
                .unwrap_or(DEFAULT_MAX_DEQUEUE_COUNT),
        })
    }
}

/// Reads a JSON file; a byte order mark in front is accepted, as .NET tools like to write one.
pub(crate) fn read_json(path: &Path) -> Result<Value, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|source| ConfigError::Syntax { path: path.to_owned(), source })
}

fn layered(host_json: &Value, environment: &Environment) -> Result<Settings, ConfigError> {
    let mut explicit = Settings::default();
    explicit.layer_json(host_json)?;
    match explicit.get("version") {
        Some("2.0") => {}
        found => return Err(ConfigError::HostJsonVersion { found: found.map(str::to_owned) }),
    }
    explicit.layer_environment(environment.iter());

    let mut settings = Settings::default();
    settings.layer_json(&profile_layer(explicit.get("configurationProfile").unwrap_or_default())?)?;
    settings.layer_json(host_json)?;
    settings.layer_environment(environment.iter());
    Ok(settings)
}

fn profile_layer(name: &str) -> Result<Value, ConfigError> {
    match name.to_ascii_lowercase().as_str() {
        "" | "default" => Ok(json!({})),
        "mcp-custom-handler" | "web-app-custom-handler" => Ok(json!({
            "customHandler": {"enableProxyingHttpRequest": true, "http": {"routes": [{"route": "{*route}"}]}},
            "extensions": {"http": {"routePrefix": ""}},
        })),
        _ => Err(ConfigError::UnknownProfile { name: name.to_owned() }),
    }
}

fn description(
    settings: &Settings,
    app_root: &Path,
    environment: &Environment,
    executable: Option<&Path>,
) -> Result<Description, ConfigError> {
    const SECTION: &str = "customHandler:description";
    if !settings.has_section(SECTION) {
        return Err(ConfigError::MissingDescription);
    }
    let key = |name: &str| format!("{SECTION}:{name}");
    let configured = settings.non_blank(&key("defaultExecutablePath")).ok_or(ConfigError::MissingExecutable)?;
    let directory = |name: &str| app_root.join(settings.non_blank(&key(name)).unwrap_or_default());
    Ok(Description {
        executable: match executable {
            Some(path) => path.to_string_lossy().into_owned(),
            None => environment.expand(configured),
        },
        worker_path: settings.non_blank(&key("defaultWorkerPath")).map(str::to_owned),
        arguments: settings.list(&key("arguments")),
        worker_arguments: settings.list(&key("workerArguments")),
        worker_directory: directory("workerDirectory"),
        working_directory: directory("workingDirectory"),
        stderr_is_errors: flag(settings, "customHandler:description:useStdErrorStreamForErrorsOnly", true)?,
    })
}

fn http_mode(settings: &Settings) -> Result<HttpMode, ConfigError> {
    if flag(settings, "customHandler:enableProxyingHttpRequest", false)? {
        return Ok(HttpMode::Proxy);
    }
    let forward = flag(settings, "customHandler:enableForwardingHttpRequest", false)?;
    Ok(if forward { HttpMode::Forward } else { HttpMode::Envelope })
}

fn fixed_port(settings: &Settings) -> Result<Option<u16>, ConfigError> {
    let Some(port) = number::<u16>(settings, "customHandler:port")? else { return Ok(None) };
    if port == 0 {
        return Err(ConfigError::PortUnavailable { port, source: None });
    }
    match std::net::TcpListener::bind(("127.0.0.1", port)) {
        Ok(_) => Ok(Some(port)),
        Err(source) => Err(ConfigError::PortUnavailable { port, source: Some(source) }),
    }
}

fn function_timeout(settings: &Settings) -> Result<Option<Duration>, ConfigError> {
    const KEY: &str = "functionTimeout";
    match settings.non_blank(KEY) {
        None => Ok(Some(DEFAULT_FUNCTION_TIMEOUT)),
        Some("-1" | "-00:00:01") => Ok(None),
        Some(text) => match parse_timespan(text) {
            Some(limit) if limit >= Duration::from_secs(1) => Ok(Some(limit)),
            _ => Err(invalid(KEY, text, "-1 or a time span of at least one second")),
        },
    }
}

fn route_entries(settings: &Settings) -> Result<Vec<RouteEntry>, ConfigError> {
    const SECTION: &str = "customHandler:http:routes";
    let default_level = level(settings, "customHandler:http:defaultAuthorizationLevel")?.unwrap_or(AuthLevel::Function);
    settings
        .children(SECTION)
        .iter()
        .map(|index| {
            let own_level = level(settings, &format!("{SECTION}:{index}:authorizationLevel"))?;
            Ok(RouteEntry {
                route: settings.get(&format!("{SECTION}:{index}:route")).map(str::to_owned),
                level: own_level.unwrap_or(default_level),
            })
        })
        .collect()
}

fn http_options(settings: &Settings) -> Result<HttpOptions, ConfigError> {
    let limit =
        |key| Ok(number::<i64>(settings, key)?.and_then(|limit| usize::try_from(limit).ok()).filter(|n| *n > 0));
    let headers = "extensions:http:customHeaders";
    Ok(HttpOptions {
        route_prefix: settings.get("extensions:http:routePrefix").unwrap_or("api").trim_matches('/').to_owned(),
        max_outstanding: limit("extensions:http:maxOutstandingRequests")?,
        max_concurrent: limit("extensions:http:maxConcurrentRequests")?,
        custom_headers: settings
            .children(headers)
            .into_iter()
            .filter_map(|name| Some((settings.get(&format!("{headers}:{name}"))?.to_owned(), name)))
            .map(|(value, name)| (name, value))
            .collect(),
    })
}

fn level(settings: &Settings, key: &str) -> Result<Option<AuthLevel>, ConfigError> {
    let Some(text) = settings.non_blank(key) else { return Ok(None) };
    let parsed = AuthLevel::parse(text);
    parsed.map(Some).ok_or_else(|| invalid("customHandler.http authorization level", text, AuthLevel::EXPECTED))
}

fn flag(settings: &Settings, key: &'static str, default: bool) -> Result<bool, ConfigError> {
    match settings.non_blank(key) {
        None => Ok(default),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        Some(text) => Err(invalid(key, text, "true or false")),
    }
}

fn number<N: std::str::FromStr>(settings: &Settings, key: &'static str) -> Result<Option<N>, ConfigError> {
    let Some(text) = settings.non_blank(key) else { return Ok(None) };
    text.trim().parse().map(Some).map_err(|_| invalid(key, text, "a number in range"))
}

fn timespan(settings: &Settings, key: &'static str) -> Result<Option<Duration>, ConfigError> {
    let Some(text) = settings.non_blank(key) else { return Ok(None) };
    parse_timespan(text).map(Some).ok_or_else(|| invalid(key, text, "a time span such as 00:00:30"))
}

fn invalid(key: &'static str, value: &str, expected: &'static str) -> ConfigError {
    ConfigError::InvalidValue { key, value: value.to_owned(), expected }
}

#[cfg(test)]
mod tests;
