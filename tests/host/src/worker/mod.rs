//! One handler process: start, readiness, exit codes, strikes, kill.

mod client;
mod command;
mod console;
mod group;
mod port;
mod process;
mod strikes;

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::sync::{mpsc, oneshot, watch};

pub(crate) use self::{client::HandlerClient, console::LogBook, port::HandlerPort, process::supervise};
use crate::config::{Description, Environment};

pub use self::console::{LogLevel, LogLine, LogSource};

/// What is needed to start a handler again and again.
#[derive(Debug)]
pub(crate) struct WorkerSettings {
    pub(crate) copy: usize,
    pub(crate) app_root: PathBuf,
    pub(crate) description: Description,
    pub(crate) environment: Environment,
    pub(crate) port: u16,
    pub(crate) initialization_timeout: Duration,
    /// Longest time a probe may wait for an answer.
    pub(crate) probe_timeout: Duration,
    pub(crate) strike_limit: u32,
    pub(crate) make_executable: bool,
    pub(crate) log: Arc<LogBook>,
}

/// Where the handler is in its life, as the dispatcher sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not ready for the first time. A spawn failure stays here for good.
    Initializing,
    /// Ready once and not known to have failed since. After exit code 0 it stays here.
    Ready,
    /// Failed; the replacement is on its way.
    Restarting,
    /// This copy of the host has given up or was stopped.
    Stopped(String),
}

/// The state of a handler.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    pub(crate) phase: Phase,
    /// Process id of the running handler.
    pub(crate) pid: Option<u32>,
    /// Successful spawns so far.
    pub(crate) starts: u32,
    /// Spawn to first answer of the latest start.
    pub(crate) ready_after: Option<Duration>,
}

/// What the host can ask of the task that owns the process.
#[derive(Debug)]
pub(crate) enum Request {
    /// SIGKILL from outside, as the out-of-memory killer or a test would do. Answered when the process is gone.
    Kill(oneshot::Sender<()>),
    /// Kill and start again without counting a failure.
    Restart,
    /// Stop this copy of the host for good.
    Stop(String),
}

/// A handle to one handler.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    /// Which copy of the host this handler belongs to.
    pub(crate) copy: usize,
    pub(crate) client: HandlerClient,
    status: watch::Sender<Status>,
    requests: mpsc::Sender<Request>,
}

/// The other end of a [`Worker`].
#[derive(Debug)]
pub(crate) struct WorkerTask {
    pub(crate) copy: usize,
    pub(crate) port: HandlerPort,
    pub(crate) client: HandlerClient,
    pub(crate) status: watch::Sender<Status>,
    pub(crate) requests: mpsc::Receiver<Request>,
}

/// A handler did not become ready.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotReady {
    #[error("the handler did not become ready in time")]
    TimedOut,
    #[error("the host is stopped: {0}")]
    Stopped(String),
}

impl Worker {
    /// A handle and the end that [`supervise`] drives.
    pub(crate) fn new(copy: usize, port: HandlerPort) -> (Self, WorkerTask) {
        let initial = Status { phase: Phase::Initializing, pid: None, starts: 0, ready_after: None };
        let (status, _) = watch::channel(initial);
        let (request_sender, requests) = mpsc::channel(16);
        let client = HandlerClient::new(port.number());
        let task = WorkerTask { copy, port, client: client.clone(), status: status.clone(), requests };
        (Self { copy, client, status, requests: request_sender }, task)
    }

    pub(crate) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// Why this copy stopped, if it did.
    pub(crate) fn stopped(&self) -> Option<String> {
        match &self.status.borrow().phase {
            Phase::Stopped(reason) => Some(reason.clone()),
            _ => None,
        }
    }

    /// Waits until requests may be sent.
    pub(crate) async fn ready(&self, limit: Duration) -> Result<Status, NotReady> {
        let mut status = self.status.subscribe();
        let settled = status.wait_for(|status| matches!(status.phase, Phase::Ready | Phase::Stopped(_)));
        // The channel stays open as long as this handle.
        let Ok(Ok(settled)) = tokio::time::timeout(limit, settled).await else { return Err(NotReady::TimedOut) };
        match &settled.phase {
            Phase::Stopped(reason) => Err(NotReady::Stopped(reason.clone())),
            _ => Ok(settled.clone()),
        }
    }

    /// Waits until this copy stops and returns the reason.
    pub(crate) async fn wait_stopped(&self) -> String {
        let mut status = self.status.subscribe();
        // The channel stays open as long as this handle, so the outcome is never an error.
        let _ = status.wait_for(|status| matches!(status.phase, Phase::Stopped(_))).await;
        self.stopped().unwrap_or_default()
    }

    /// Waits until the handler was started at least `count` times.
    pub(crate) async fn wait_started(&self, count: u32) {
        let mut status = self.status.subscribe();
        // As above.
        let _ = status.wait_for(|status| status.starts >= count).await;
    }

    /// Sends SIGKILL and waits until the process is gone. Without a process, does nothing.
    pub(crate) async fn kill(&self) {
        let (done, gone) = oneshot::channel();
        // A closed channel means that the supervisor ended, and the process with it.
        if self.requests.send(Request::Kill(done)).await.is_ok() {
            let _ = gone.await;
        }
    }

    /// Kills the handler and starts a new one; no strike is counted. From now on requests wait for the new one. A
    /// handler that is being replaced anyway is left alone.
    pub(crate) fn restart(&self) {
        let closed = self.status.send_if_modified(|status| {
            let was_ready = status.phase == Phase::Ready;
            if was_ready {
                status.phase = Phase::Restarting;
            }
            was_ready
        });
        if closed {
            // A full queue already holds requests that end this process.
            let _ = self.requests.try_send(Request::Restart);
        }
    }

    /// Stops this copy of the host for good.
    pub(crate) async fn stop(&self, reason: impl Into<String>) {
        let _ = self.requests.send(Request::Stop(reason.into())).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_restart_closes_the_handler_to_requests_at_once_and_is_asked_for_only_once() {
        let (worker, mut task) = Worker::new(0, HandlerPort::reserve(None).unwrap());
        task.status.send_modify(|status| status.phase = Phase::Ready);
        assert!(worker.ready(Duration::ZERO).await.is_ok());

        worker.restart();
        worker.restart();

        assert!(matches!(worker.ready(Duration::ZERO).await, Err(NotReady::TimedOut)));
        assert!(matches!(task.requests.try_recv(), Ok(Request::Restart)));
        assert!(task.requests.try_recv().is_err());
    }

    #[test]
    fn a_restart_does_not_bring_a_stopped_copy_back() {
        let (worker, mut task) = Worker::new(0, HandlerPort::reserve(None).unwrap());
        task.status.send_modify(|status| status.phase = Phase::Stopped("done".to_owned()));
        worker.restart();
        assert_eq!(worker.stopped().as_deref(), Some("done"));
        assert!(task.requests.try_recv().is_err());
    }
}
