//! App folders for the tests, and clients that can send what a polite client cannot.

use std::{fs, ops::Deref, path::Path, time::Duration};

use functions_test_host::{Builder, FunctionsHost, LogLine, LogSource};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{Pid, PidfdFlags, pidfd_open},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// The handler under the tests.
pub(crate) const ECHO: &str = env!("CARGO_BIN_EXE_echo-handler");
/// Far beyond anything a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// An app folder with host.json; removed when dropped.
pub(crate) struct App {
    folder: TempDir,
}

impl App {
    /// A proxying app without route prefix. `handler` adds or replaces members of `customHandler`.
    pub(crate) fn new(handler: Value) -> Self {
        Self::with_host_json(&json!({
            "version": "2.0",
            "extensions": {"http": {"routePrefix": ""}},
            "customHandler": merged(
                json!({"description": {"defaultExecutablePath": "handler"}, "enableProxyingHttpRequest": true}),
                handler,
            ),
        }))
    }

    /// An app in envelope mode with the default prefix.
    pub(crate) fn envelope() -> Self {
        Self::with_host_json(&json!({
            "version": "2.0",
            "customHandler": {"description": {"defaultExecutablePath": "handler"}},
        }))
    }

    pub(crate) fn with_host_json(document: &Value) -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("host.json"), document.to_string()).unwrap();
        Self { folder }
    }

    /// A proxying app whose handler is started with these arguments.
    pub(crate) fn with_arguments(arguments: &[&str]) -> Self {
        Self::new(json!({"description": {"defaultExecutablePath": "handler", "arguments": arguments}})).http(
            "all",
            "{*rest}",
            "anonymous",
        )
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Adds a function.
    pub(crate) fn function(self, name: &str, document: &Value) -> Self {
        fs::create_dir(self.path().join(name)).unwrap();
        fs::write(self.path().join(name).join("function.json"), document.to_string()).unwrap();
        self
    }

    /// Adds an HTTP function for all methods.
    pub(crate) fn http(self, name: &str, route: &str, level: &str) -> Self {
        let document = http_function(&json!({"route": route, "authLevel": level}));
        self.function(name, &document)
    }

    /// A host on the echo handler that does not depend on the environment of the test run.
    pub(crate) fn host(&self) -> Builder {
        FunctionsHost::builder(self.path()).executable_override(ECHO).without_inherited_env()
    }

    /// Starts such a host without waiting for the handler.
    pub(crate) async fn launch(self, configure: impl FnOnce(Builder) -> Builder) -> Running {
        let host = configure(self.host()).start().await.unwrap();
        Running { host, _app: self }
    }

    /// Starts such a host and waits for the handler.
    pub(crate) async fn start_with(self, configure: impl FnOnce(Builder) -> Builder) -> Running {
        let running = self.launch(configure).await;
        running.ready().await.unwrap();
        running
    }

    /// Starts a host without further settings and waits for the handler.
    pub(crate) async fn start(self) -> Running {
        self.start_with(|host| host).await
    }
}

/// A host and the app folder that it works in.
pub(crate) struct Running {
    pub(crate) host: FunctionsHost,
    _app: App,
}

impl Deref for Running {
    type Target = FunctionsHost;

    fn deref(&self) -> &FunctionsHost {
        &self.host
    }
}

/// A catch-all app in proxy mode.
pub(crate) fn catch_all() -> App {
    App::new(json!({})).http("all", "{*rest}", "anonymous")
}

/// function.json with an HTTP trigger and an HTTP reply; `trigger` adds members to the trigger.
pub(crate) fn http_function(trigger: &Value) -> Value {
    json!({"bindings": [
        merged(json!({"type": "httpTrigger", "direction": "in", "name": "req"}), trigger.clone()),
        {"type": "http", "direction": "out", "name": "res"},
    ]})
}

fn merged(mut base: Value, over: Value) -> Value {
    let Value::Object(over) = over else { panic!("not an object: {over}") };
    base.as_object_mut().unwrap().extend(over);
    base
}

/// A client that follows no redirects.
pub(crate) fn client() -> reqwest::Client {
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

/// What the echo handler saw of a request.
pub(crate) struct Seen(pub(crate) Value);

impl Seen {
    pub(crate) async fn from(response: reqwest::Response) -> Self {
        assert_eq!(response.status(), 200);
        Self(response.json().await.unwrap())
    }

    pub(crate) fn text(&self, member: &str) -> &str {
        self.0[member].as_str().unwrap()
    }

    /// All values of a header, in order.
    pub(crate) fn headers(&self, name: &str) -> Vec<&str> {
        let all = self.0["headers"].as_array().unwrap().iter();
        all.filter(|pair| pair[0] == name).map(|pair| pair[1].as_str().unwrap()).collect()
    }

    /// The only value of a header.
    pub(crate) fn header(&self, name: &str) -> &str {
        let values = self.headers(name);
        assert_eq!(values.len(), 1, "{name}: {values:?}");
        values[0]
    }

    pub(crate) fn variable(&self, name: &str) -> &str {
        self.0["environment"][name].as_str().unwrap_or_default()
    }
}

pub(crate) async fn get(url: impl AsRef<str>) -> reqwest::Response {
    client().get(url.as_ref()).send().await.unwrap()
}

/// Asks the echo handler to behave in some way.
pub(crate) fn behave(url: &str, behaviour: &str) -> reqwest::RequestBuilder {
    client().get(url).header("x-behave", behaviour)
}

/// Sends bytes and returns all bytes that come back until the server closes.
pub(crate) async fn raw(base_url: &str, request: &str) -> String {
    let mut stream = connect(base_url).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

pub(crate) async fn connect(base_url: &str) -> TcpStream {
    TcpStream::connect(base_url.strip_prefix("http://").unwrap()).await.unwrap()
}

/// A raw GET for a target that clients would rewrite; the answer comes from the echo handler.
pub(crate) async fn seen_target(base_url: &str, target: &str) -> Seen {
    let answer = raw(base_url, &format!("GET {target} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n")).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    Seen(serde_json::from_str(body).unwrap())
}

/// Waits until a process has ended, whether or not somebody has collected it yet.
pub(crate) async fn ended(pid: u32) {
    let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(error) => return assert_eq!(error, Errno::SRCH),
    };
    let limit = PATIENCE.try_into().unwrap();
    let wait = move || poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit));
    assert_eq!(tokio::task::spawn_blocking(wait).await.unwrap(), Ok(1), "process {pid} still runs");
}

/// Waits for a line of the handler's standard output.
pub(crate) async fn printed(host: &FunctionsHost, text: &str) -> LogLine {
    logged(host, |line| line.source == LogSource::Stdout && line.text.contains(text)).await
}

pub(crate) async fn logged(host: &FunctionsHost, predicate: impl Fn(&LogLine) -> bool) -> LogLine {
    let found = timeout(PATIENCE, host.wait_for_log(predicate)).await;
    found.unwrap_or_else(|_| panic!("no such line in {:#?}", host.logs()))
}

/// What the echo handler saw of an envelope for an HTTP request.
pub(crate) async fn seen_envelope(response: reqwest::Response) -> Value {
    assert_eq!(response.status(), 200);
    response.json().await.unwrap()
}
