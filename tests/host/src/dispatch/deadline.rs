//! The two clocks of an invocation: the function timeout and the proxy's inactivity limit.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::worker::Worker;

/// Runs while an invocation runs. When the function timeout passes, the handler is killed and started again, which
/// takes every other request in it down too.
#[derive(Debug)]
pub(crate) struct Deadline {
    expired: watch::Receiver<bool>,
    // Dropping the set ends the timer.
    _timer: JoinSet<()>,
}

impl Deadline {
    /// Starts the clock; without a limit it never expires.
    pub(crate) fn start(limit: Option<Duration>, worker: Worker) -> Self {
        let (sender, expired) = watch::channel(false);
        let mut timer = JoinSet::new();
        timer.spawn(async move {
            match limit {
                Some(limit) => sleep(limit).await,
                None => std::future::pending().await,
            }
            // First closed to new requests, so that whoever sees this one fail meets the next handler.
            worker.restart();
            sender.send_replace(true);
        });
        Self { expired, _timer: timer }
    }

    /// Completes when the limit has passed.
    pub(crate) async fn expired(&self) {
        let mut expired = self.expired.clone();
        let passed = expired.wait_for(|expired| *expired).await.is_ok();
        if !passed && !*self.expired.borrow() {
            std::future::pending::<()>().await;
        }
    }
}

/// The time of the latest progress in either direction.
#[derive(Clone, Debug)]
pub(crate) struct Activity {
    latest: Arc<Mutex<Instant>>,
}

impl Activity {
    pub(crate) fn new() -> Self {
        Self { latest: Arc::new(Mutex::new(Instant::now())) }
    }

    /// Notes progress.
    pub(crate) fn touch(&self) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Completes once nothing has happened for `limit`.
    pub(crate) async fn idle(&self, limit: Duration) {
        loop {
            let elapsed = self.latest.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
            match limit.checked_sub(elapsed) {
                None | Some(Duration::ZERO) => return,
                Some(rest) => sleep(rest).await,
            }
        }
    }
}
