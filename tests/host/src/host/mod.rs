//! A running host, as tests and the command line hold it.

mod builder;

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::{task::JoinSet, time::timeout};

pub use self::builder::{Builder, StartError};
use crate::{
    app::{App, Copy},
    config::HttpMode,
    dispatch::Output,
    function::{Function, FunctionError},
    triggers::{self, Delivery, TriggerError},
    worker::{LogLine, NotReady},
};

/// How long [`FunctionsHost::stop`] waits for the handlers to be gone.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// A running host. Dropping it kills the handlers and closes the listeners; dropping it in a test that fails prints
/// what was logged as well.
#[derive(Debug)]
pub struct FunctionsHost {
    app: Arc<App>,
    base_url: String,
    copy_urls: Vec<String>,
    servers: JoinSet<()>,
    supervisors: JoinSet<()>,
}

/// A handler did not get ready.
#[derive(Debug, thiserror::Error)]
pub enum HandlerDown {
    /// There is no copy with this index.
    #[error("there is no copy {0}")]
    NoSuchCopy(usize),
    /// No function could be loaded, and without functions no handler is started.
    #[error("the app has no function that loads, so no handler runs")]
    NoFunctions,
    /// It takes longer than an invocation would wait.
    #[error("the handler of copy {0} did not become ready in time")]
    TimedOut(usize),
    /// The copy gave up.
    #[error("copy {copy} is stopped: {reason}")]
    Stopped {
        /// The copy.
        copy: usize,
        /// Why it stopped.
        reason: String,
    },
}

impl FunctionsHost {
    /// Starts to set up a host for the app in a folder.
    pub fn builder(app_root: impl Into<PathBuf>) -> Builder {
        Builder::new(app_root)
    }

    /// `http://127.0.0.1:{port}`, where the copies answer in turn.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Where one copy alone answers; `None` when there is no such copy.
    pub fn copy_url(&self, copy: usize) -> Option<&str> {
        self.copy_urls.get(copy).map(String::as_str)
    }

    /// Where the handler of a copy listens, for requests that go around the host.
    pub fn handler_url(&self, copy: usize) -> Option<String> {
        self.copy(copy).map(|copy| format!("http://{}", copy.worker.client.authority()))
    }

    /// How HTTP-in, HTTP-out functions are dispatched.
    pub fn mode(&self) -> HttpMode {
        self.app.config.mode
    }

    /// Names of the loaded functions, in the order in which their routes are tried.
    pub fn functions(&self) -> Vec<&str> {
        self.app.functions.functions.iter().map(|function| function.name.as_str()).collect()
    }

    /// Functions that could not be loaded.
    pub fn function_errors(&self) -> &[FunctionError] {
        &self.app.functions.errors
    }

    /// Waits until every handler is ready and returns the longest time one took from spawn to first answer.
    pub async fn ready(&self) -> Result<Duration, HandlerDown> {
        let mut longest = Duration::ZERO;
        for copy in 0..self.app.copies.len() {
            longest = longest.max(self.ready_copy(copy).await?);
        }
        Ok(longest)
    }

    /// Waits until the handler of one copy is ready.
    pub async fn ready_copy(&self, copy: usize) -> Result<Duration, HandlerDown> {
        let worker = &self.copy(copy).ok_or(HandlerDown::NoSuchCopy(copy))?.worker;
        if self.app.functions.functions.is_empty() {
            return Err(HandlerDown::NoFunctions);
        }
        match worker.ready(self.app.ready_wait()).await {
            Ok(status) => Ok(status.ready_after.unwrap_or_default()),
            Err(NotReady::TimedOut) => Err(HandlerDown::TimedOut(copy)),
            Err(NotReady::Stopped(reason)) => Err(HandlerDown::Stopped { copy, reason }),
        }
    }

    /// Time from spawn to first answer of the latest start, once it is ready.
    pub fn ready_after(&self, copy: usize) -> Option<Duration> {
        self.copy(copy)?.worker.status().ready_after
    }

    /// Process id of a handler that runs.
    pub fn handler_pid(&self, copy: usize) -> Option<u32> {
        self.copy(copy)?.worker.status().pid
    }

    /// How often the handler of a copy was started.
    pub fn starts(&self, copy: usize) -> u32 {
        self.copy(copy).map_or(0, |copy| copy.worker.status().starts)
    }

    /// Waits until the handler of a copy was started at least `count` times.
    pub async fn wait_started(&self, copy: usize, count: u32) {
        if let Some(copy) = self.copy(copy) {
            copy.worker.wait_started(count).await;
        }
    }

    /// Kills a handler with SIGKILL and waits until it is gone. The host sees exit code 137, starts another one, and
    /// stops the copy at the third time within half an hour (see [`Knobs::strike_limit`](crate::Knobs)).
    pub async fn kill_handler(&self, copy: usize) {
        if let Some(copy) = self.copy(copy) {
            copy.worker.kill().await;
        }
    }

    /// Why a copy stopped, if it did.
    pub fn stopped(&self, copy: usize) -> Option<String> {
        self.copy(copy)?.worker.stopped()
    }

    /// Waits until a copy stops and returns the reason; `None` when there is no such copy.
    pub async fn wait_stopped(&self, copy: usize) -> Option<String> {
        Some(self.copy(copy)?.worker.wait_stopped().await)
    }

    /// Every line captured so far, oldest first.
    pub fn logs(&self) -> Vec<LogLine> {
        self.app.log.lines()
    }

    /// Waits until more than `count` lines were captured and returns the ones after, with the count to go on from.
    pub async fn logs_after(&self, count: usize) -> (Vec<LogLine>, usize) {
        self.app.log.after(count).await
    }

    /// Waits for a line, old or new. Bound it with a timeout of your own.
    pub async fn wait_for_log(&self, predicate: impl Fn(&LogLine) -> bool) -> LogLine {
        self.app.log.wait_for(predicate).await
    }

    /// What functions wrote to bindings other than `http`.
    pub fn outputs(&self) -> Vec<Output> {
        self.app.outputs.all()
    }

    /// Fires a timer function and waits for the end, repeats of its retry policy included.
    pub async fn fire_timer(&self, function: &str) -> Result<(), TriggerError> {
        triggers::timer(&self.app, self.function(function)?, false).await
    }

    /// Fires a timer function that is past due.
    pub async fn fire_overdue_timer(&self, function: &str) -> Result<(), TriggerError> {
        triggers::timer(&self.app, self.function(function)?, true).await
    }

    /// Delivers a queue message to a function, again and again until it succeeds or is poisoned.
    pub async fn queue_message(&self, function: &str, text: &str) -> Result<Delivery, TriggerError> {
        triggers::queue_message(&self.app, self.function(function)?, text).await
    }

    /// Kills the handlers, without a warning as the real host does, and closes the listeners.
    pub async fn stop(mut self) {
        for copy in &self.app.copies {
            copy.worker.stop("it was asked to").await;
        }
        let gone = async { while self.supervisors.join_next().await.is_some() {} };
        // What does not end in time is killed when the supervisors are dropped.
        let _ = timeout(STOP_WAIT, gone).await;
        self.servers.shutdown().await;
    }

    fn copy(&self, index: usize) -> Option<&Copy> {
        self.app.copies.get(index)
    }

    fn function(&self, name: &str) -> Result<&Function, TriggerError> {
        self.app.function(name).ok_or_else(|| TriggerError::Unknown(name.to_owned()))
    }
}

impl Drop for FunctionsHost {
    #[expect(clippy::print_stderr, reason = "the test harness shows it with the failure")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let lines = self.app.log.lines();
            eprintln!("--- {} lines of the handlers and the host at {}", lines.len(), self.base_url);
            for line in lines {
                eprintln!("{line}");
            }
            eprintln!("---");
        }
    }
}
