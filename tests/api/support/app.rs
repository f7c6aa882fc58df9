//! An app put together as the program does it, over a runner and a store of the test's, behind a socket on a free port.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;

use a2a_functions::agents::{Catalog, load};
use a2a_functions::app::{self, AppError, AppParts, StoreChoice};
use a2a_functions::clock::SystemClock;
use a2a_functions::config::Environment;
use a2a_functions::edge::{Door, server};
use a2a_functions::host_traits::HostTraits;
use a2a_functions::store::Store;
use a2a_functions::store::memory::MemoryStore;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use super::{Script, TestRunner};
use crate::client::Call;

/// Two callers and the operator.
pub(crate) const KEY: &str = "key-of-the-first-caller";
pub(crate) const OTHER_KEY: &str = "key-of-the-second-caller";
pub(crate) const MASTER: &str = "key-of-the-operator-himself";

/// A plain process: it checks keys itself and believes no header of a host.
const PLAIN: HostTraits = HostTraits {
    checks_keys: false,
    sets_invocation_id: false,
    forwards_host: false,
    checks_authority: true,
    vouches_for_principals: false,
    development: false,
};

/// An agent for keys.
pub(crate) const AGENT: &str = "---
name: Main
description: Helps.
builtin_endpoints:
  a2a: {url: \"http://localhost:7071/agents/main/a2a\"}
---
Help.
";

/// The file of an agent called `Main`: its `http_auth`, and further fields of its endpoint.
pub(crate) fn agent(http_auth: &str, endpoint: &str) -> String {
    let separator = if endpoint.is_empty() { "" } else { ", " };
    AGENT.replace("/main/a2a\"}\n", &format!("/main/a2a\"{separator}{endpoint}}}\n  http_auth: {http_auth}\n"))
}

/// An app that is not started yet.
#[derive(Debug)]
pub(crate) struct App {
    files: Vec<(String, String)>,
    variables: Vec<(String, String)>,
    host: HostTraits,
    store: Option<Arc<dyn Store>>,
    runner: Arc<TestRunner>,
}

impl App {
    /// An app of one agent, `main`, from this file.
    pub(crate) fn of(agent: &str) -> Self {
        let ring = format!("one={KEY},two={OTHER_KEY},_master={MASTER}");
        Self {
            files: vec![("main.agent.md".to_owned(), agent.to_owned())],
            variables: vec![("A2A_FUNCTION_KEYS".to_owned(), ring)],
            host: PLAIN,
            store: None,
            runner: TestRunner::new(Script::Witness),
        }
    }

    /// Adds a file, or replaces one.
    pub(crate) fn file(mut self, name: &str, text: &str) -> Self {
        self.files.push((name.to_owned(), text.to_owned()));
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn host(mut self, change: impl FnOnce(&mut HostTraits)) -> Self {
        change(&mut self.host);
        self
    }

    pub(crate) fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    pub(crate) fn runner(mut self, runner: &Arc<TestRunner>) -> Self {
        self.runner = Arc::clone(runner);
        self
    }

    /// Starts an app that can be served.
    pub(crate) async fn start(self) -> Server {
        let app = self.build().unwrap_or_else(|refusal| panic!("{refusal}"));
        app.listen().await
    }

    /// Why the app does not start.
    pub(crate) fn refusal(self) -> String {
        match self.build() {
            Ok(_) => panic!("the app starts"),
            Err(refusal) => refusal,
        }
    }

    fn build(self) -> Result<Built, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in &self.files {
            fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
            fs::write(folder.path().join(name), text).unwrap();
        }
        let loaded = load(folder.path(), self.variables.iter().cloned().collect());
        let catalog = loaded.catalog.ok_or_else(|| format!("{:?}", loaded.diagnostics))?;
        let store = self.store.unwrap_or_else(|| Arc::new(MemoryStore::new(Arc::new(SystemClock))));
        let door = door(&catalog, &loaded.environment, self.host, store, Arc::clone(&self.runner))
            .map_err(|error| error.to_string())?;
        Ok(Built { door, runner: self.runner, folder })
    }
}

fn door(
    catalog: &Catalog,
    environment: &Environment,
    host: HostTraits,
    store: Arc<dyn Store>,
    runner: Arc<TestRunner>,
) -> Result<Door, AppError> {
    let parts = AppParts { catalog, environment, host, store: StoreChoice::Memory, local: false };
    app::App::over(&parts, store, runner).map(|app| app.door)
}

/// An app that is put together, with its folder.
struct Built {
    door: Door,
    runner: Arc<TestRunner>,
    folder: TempDir,
}

impl Built {
    async fn listen(self) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(server::serve(listener, self.door.clone(), std::future::pending()));
        Server { address, runner: self.runner, door: self.door, serving: serving.abort_handle(), _folder: self.folder }
    }
}

/// A running app; dropping it closes its listener.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) runner: Arc<TestRunner>,
    pub(crate) door: Door,
    serving: AbortHandle,
    _folder: TempDir,
}

impl Server {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A good call of the agent `main` by the first caller.
    pub(crate) fn call(&self) -> Call {
        self.call_without_key().set("x-functions-key", KEY)
    }

    /// The same without credentials.
    pub(crate) fn call_without_key(&self) -> Call {
        Call::post(self.url("/agents/main/a2a"))
    }

    /// A read by the first caller.
    pub(crate) fn get(&self, path: &str) -> Call {
        Call::get(self.url(path)).set("x-functions-key", KEY)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
