//! Everything that can be wrong with an app's host-level configuration.

use std::{io, path::PathBuf};

/// The configuration cannot be used; the host does not start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// A file is not a JSON document of the expected shape.
    #[error("{} is not valid: {source}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and why parsing stopped.
        source: serde_json::Error,
    },
    /// host.json does not say `"version": "2.0"`.
    #[error("host.json needs \"version\": \"2.0\", found {}", found.as_deref().unwrap_or("no version"))]
    HostJsonVersion {
        /// The version that was given.
        found: Option<String>,
    },
    /// One key appears twice, in spellings that differ only by case.
    #[error("host.json gives the key {key} more than once")]
    DuplicateKey {
        /// The key path.
        key: String,
    },
    /// `configurationProfile` names a profile that does not exist.
    #[error("there is no configuration profile {name:?}")]
    UnknownProfile {
        /// The name that was given.
        name: String,
    },
    /// host.json has no `customHandler.description`.
    #[error("host.json has no customHandler.description, so there is no handler to start")]
    MissingDescription,
    /// `defaultExecutablePath` is absent or blank.
    #[error("customHandler.description.defaultExecutablePath is missing or blank")]
    MissingExecutable,
    /// A key holds a value that cannot be read as what it should be.
    #[error("{key} is {value:?}, expected {expected}")]
    InvalidValue {
        /// The key path.
        key: &'static str,
        /// The value that was given.
        value: String,
        /// What would have been accepted.
        expected: &'static str,
    },
    /// `customHandler.http.routes` is used with a runtime other than `custom`.
    #[error("customHandler.http.routes needs FUNCTIONS_WORKER_RUNTIME=custom, found {}", runtime.as_deref().unwrap_or("none"))]
    RoutesNeedCustomRuntime {
        /// The runtime that was set.
        runtime: Option<String>,
    },
    /// `customHandler.http.routes` and function.json files exclude each other.
    #[error("customHandler.http.routes cannot be used beside function.json files (found function {function})")]
    RoutesBesideFunctionJson {
        /// The first function found.
        function: String,
    },
    /// The fixed port of the handler cannot be bound.
    #[error("cannot bind to the handler's fixed port {port}")]
    PortUnavailable {
        /// The port.
        port: u16,
        /// What the system said, unless the port is 0.
        source: Option<io::Error>,
    },
    /// Several copies cannot share one fixed port of one machine.
    #[error("{copies} copies cannot share the fixed port {port}: remove customHandler.port")]
    SharedPort {
        /// The port.
        port: u16,
        /// How many copies were asked for.
        copies: usize,
    },
}
