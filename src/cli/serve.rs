//! `a2a-functions serve`: answers requests, in whatever host the process finds itself.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::net::TcpListener;

use super::check::status;
use super::{ExitStatus, Output, ready};
use crate::agents::load;
use crate::app::{App, AppParts, StoreChoice};
use crate::config::{Environment, app_root, variables};
use crate::edge::{Door, server};
use crate::functions_app::level_problems;
use crate::host_traits::HostTraits;
use crate::telemetry::{self, Delivery, LogFormat};

/// Where the embedded store is kept, below the app folder.
const EMBEDDED_STORE: &str = ".a2a/state.sqlite";

/// How long the end waits for calls that cannot be cancelled, such as one to the embedded store.
const BLOCKING_WORK: Duration = Duration::from_secs(5);

/// Options of `serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  a2a-functions serve examples/incident-triage
  a2a-functions serve --port 8080 --store memory
  OPENAI_API_KEY=... a2a-functions serve my-app

When it listens on loopback, a run without a model provider answers with canned replies that say so, and a run without \
A2A_FUNCTION_KEYS makes up a key and prints it.

The host that starts the process is recognised. Under the Azure Functions host the port is that of \
FUNCTIONS_CUSTOMHANDLER_PORT; on AWS Lambda there is none. Both log JSON.

SIGTERM and Ctrl-C let requests in flight finish, 30 seconds at most; a second one ends the process at once.

Exit status: 0 after SIGTERM or Ctrl-C, 130 or 143 after the second, 1 when the app cannot be served, 2 when the command line, A2A_STORE or A2A_LOG is \
wrong or the folder cannot be read.")]
pub(super) struct ServeArgs {
    /// The app folder; the current one when left out.
    app_dir: Option<PathBuf>,
    /// The address to listen on. Off loopback, keys have to be configured.
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port to listen on; 0 takes any free one.
    #[arg(long, default_value_t = 7071)]
    port: u16,
    /// Where state is kept: memory, sqlite:PATH or azure-table. Left out, `A2A_STORE` decides, else the host: a SQLite
    /// file .a2a/state.sqlite in the app folder, or Azure Tables under the Functions host. On Lambda it must be named.
    #[arg(long)]
    store: Option<StoreChoice>,
    /// How log lines look.
    #[arg(long, value_enum, default_value_t)]
    log_format: LogFormat,
}

/// The host that started the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Host {
    Plain,
    Functions,
    Lambda,
}

impl Host {
    fn detect(environment: &Environment) -> Self {
        if environment.get_filled(variables::LAMBDA_RUNTIME_API.name).is_some() {
            Self::Lambda
        } else if environment.get_filled(variables::CUSTOM_HANDLER_PORT.name).is_some() {
            Self::Functions
        } else {
            Self::Plain
        }
    }

    fn traits(self, environment: &Environment) -> HostTraits {
        let functions = self == Self::Functions;
        HostTraits {
            checks_keys: functions,
            sets_invocation_id: functions,
            forwards_host: functions,
            checks_authority: self != Self::Lambda,
            vouches_for_principals: functions
                && is_true(environment, variables::EASY_AUTH_ENABLED)
                && is_true(environment, variables::EASY_AUTH_TRUSTED),
            development: functions
                && environment.get_filled(variables::FUNCTIONS_ENVIRONMENT.name) == Some("Development"),
        }
    }
}

fn is_true(environment: &Environment, variable: variables::Variable) -> bool {
    let words = ["true", "1", "yes", "y"];
    environment.get_filled(variable.name).is_some_and(|value| words.iter().any(|word| value.eq_ignore_ascii_case(word)))
}

/// Serves until the process is told to stop.
pub(super) fn run(args: &ServeArgs, environment: Environment, output: &mut Output) -> ExitStatus {
    let host = Host::detect(&environment);
    let log_format = if host == Host::Plain { args.log_format } else { LogFormat::Json };
    let delivery = if host == Host::Lambda { Delivery::Direct } else { Delivery::Background };
    // Held to the end: the last lines are written when it is dropped.
    let _log = match telemetry::init(log_format, environment.get_filled(variables::LOG.name), delivery) {
        Ok(flush) => flush,
        Err(error) => return fail(output, ExitStatus::Usage, &error.to_string()),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(workers()).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(output, ExitStatus::Problems, &format!("the process cannot start threads: {error}")),
    };
    let status = runtime.block_on(start(host, args, environment, output));
    runtime.shutdown_timeout(BLOCKING_WORK);
    status
}

/// One worker for two processors. A turn waits for its model most of the time and computes for microseconds, and workers
/// that pass such small pieces to each other spend a third more processor time on them; what is left over is the host's.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2))
}

fn fail(output: &mut Output, status: ExitStatus, problem: &str) -> ExitStatus {
    output.message(&format!("error: {problem}"));
    status
}

async fn start(host: Host, args: &ServeArgs, environment: Environment, output: &mut Output) -> ExitStatus {
    // The port comes first: whoever waits for it queues there while the agents are read.
    let listener = match host {
        Host::Lambda => None,
        _ => match listen(host, args, &environment).await {
            Ok(listener) => Some(listener),
            Err(problem) => return fail(output, ExitStatus::Problems, &problem),
        },
    };
    let root = app_root(args.app_dir.as_deref(), &environment);
    let loaded = load(&root, environment);
    output.message_findings(&loaded.diagnostics);
    let Some(catalog) = &loaded.catalog else { return status(&loaded.diagnostics) };
    let problems =
        if host == Host::Functions { level_problems(&root, catalog, &loaded.environment) } else { Vec::new() };
    if !problems.is_empty() {
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        return fail(output, ExitStatus::Problems, &problems.join("\nerror: "));
    }
    let store = match store_choice(host, args, &loaded.environment, &root) {
        Ok(store) => store,
        Err(problem) => return fail(output, ExitStatus::Usage, &problem),
    };
    let parts = AppParts {
        catalog,
        environment: &loaded.environment,
        host: host.traits(&loaded.environment),
        local: host == Host::Plain && args.host.is_loopback(),
        store,
    };
    let app = match App::build(&parts) {
        Ok(app) => app,
        Err(error) => return fail(output, ExitStatus::Problems, &error.to_string()),
    };
    if let Err(error) = app.check_store().await {
        return fail(output, ExitStatus::Problems, &error.to_string());
    }
    match listener {
        Some((listener, address)) => {
            if host == Host::Plain {
                ready::announce(&parts, &app, address, output);
            }
            tracing::info!(%address, agents = catalog.agents.len(), "ready");
            server::serve(listener, app.door, stop_signal()).await;
            ExitStatus::Success
        }
        None => lambda(app.door, output).await,
    }
}

async fn listen(host: Host, args: &ServeArgs, environment: &Environment) -> Result<(TcpListener, SocketAddr), String> {
    let address = match (host, environment.get_filled(variables::CUSTOM_HANDLER_PORT.name)) {
        (Host::Functions, Some(port)) => {
            let port = port.parse().map_err(|_| format!("FUNCTIONS_CUSTOMHANDLER_PORT is {port:?}, not a port"))?;
            SocketAddr::from(([127, 0, 0, 1], port))
        }
        _ => SocketAddr::new(args.host, args.port),
    };
    let bound = TcpListener::bind(address).await.and_then(|listener| {
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    bound.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "port {} of {} is taken by another process; stop it or choose another port with --port",
            address.port(),
            address.ip()
        ),
        io::ErrorKind::PermissionDenied => {
            format!("port {} needs privileges; choose one above 1023 with --port", address.port())
        }
        _ => format!("cannot listen on {address}: {error}"),
    })
}

/// The store asked for, else the one that fits the host. Lambda has none of its own, so there it must be named.
fn store_choice(host: Host, args: &ServeArgs, environment: &Environment, root: &Path) -> Result<StoreChoice, String> {
    if let Some(store) = &args.store {
        return Ok(store.clone());
    }
    if let Some(text) = environment.get_filled(variables::STORE.name) {
        return text.parse().map_err(|error| format!("A2A_STORE: {error}"));
    }
    match host {
        Host::Plain => Ok(StoreChoice::Sqlite(root.join(EMBEDDED_STORE))),
        Host::Functions => Ok(StoreChoice::AzureTable),
        Host::Lambda => Err("set A2A_STORE: azure-table keeps conversations, memory forgets them with each instance \
                             of the function"
            .to_owned()),
    }
}

/// Completes when the process is asked to stop: SIGTERM, or Ctrl-C. Asked twice, it ends at once, whatever it is busy with.
async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::terminate(), SignalKind::interrupt()];
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(kinds[0]), signal(kinds[1])) else {
        // Without handlers the signals end the process at once, which is safe too.
        return std::future::pending().await;
    };
    let asked = Arc::new(AtomicBool::new(false));
    for kind in kinds.map(|kind| kind.as_raw_value()) {
        // In this order, the signal that sets the flag is not the one that finds it set.
        let twice = signal_hook::flag::register_conditional_shutdown(kind, 128 + kind, Arc::clone(&asked));
        if let Err(error) = twice.and_then(|_| signal_hook::flag::register(kind, Arc::clone(&asked))) {
            tracing::warn!(%error, "a second signal will not end the process at once");
        }
    }
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping");
}

#[cfg(feature = "lambda")]
async fn lambda(door: Door, output: &mut Output) -> ExitStatus {
    match crate::edge::lambda::serve(door).await {
        Ok(()) => ExitStatus::Success,
        Err(error) => fail(output, ExitStatus::Problems, &format!("the Lambda runtime failed: {error}")),
    }
}

#[cfg(not(feature = "lambda"))]
#[expect(clippy::unused_async, reason = "builds with the feature wait here")]
async fn lambda(_: Door, output: &mut Output) -> ExitStatus {
    fail(output, ExitStatus::Usage, "this build has no Lambda host: build with the cargo feature lambda")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_told_by_what_it_sets() {
        for (variables, expected) in [
            (&[][..], Host::Plain),
            (&[("FUNCTIONS_CUSTOMHANDLER_PORT", "1")], Host::Functions),
            (&[("AWS_LAMBDA_RUNTIME_API", "x")], Host::Lambda),
        ] {
            let environment = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            assert_eq!(Host::detect(&environment), expected);
        }
    }

    #[test]
    fn keys_are_left_to_the_functions_host_alone() {
        let none = Environment::from([]);
        assert!(Host::Functions.traits(&none).checks_keys);
        assert!(!Host::Functions.traits(&none).development);
        assert!(!Host::Plain.traits(&none).checks_keys && !Host::Lambda.traits(&none).checks_keys);
        let tools = Environment::from([("AZURE_FUNCTIONS_ENVIRONMENT", "Development")]);
        assert!(Host::Functions.traits(&tools).development && !Host::Plain.traits(&tools).development);
    }
}
