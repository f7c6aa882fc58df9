//! What the handlers print and what the host says about them, kept line by line for assertions.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// Lines kept; older ones are dropped.
const CAPACITY: usize = 20_000;

/// Where a line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogSource {
    /// Standard output of the handler.
    Stdout,
    /// Standard error of the handler.
    Stderr,
    /// The host itself.
    Host,
}

/// How the host would classify a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Nothing wrong.
    Information,
    /// A line on standard error that contains "warn".
    Warning,
    /// Any other line on standard error, and failures seen by the host.
    Error,
}

/// One captured line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Which copy of the host, counted from 0.
    pub copy: usize,
    /// Who wrote it.
    pub source: LogSource,
    /// The host's classification.
    pub level: LogLevel,
    /// The text without the line end.
    pub text: String,
}

impl std::fmt::Display for LogLine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "[{} {:?}] {}", self.copy, self.source, self.text)
    }
}

/// All lines so far, oldest first.
#[derive(Debug, Default)]
pub(crate) struct LogBook {
    kept: Mutex<Kept>,
    added: Notify,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<LogLine>,
    /// Lines dropped from the front.
    dropped: usize,
}

impl LogBook {
    pub(crate) fn add(&self, line: LogLine) {
        let mut kept = self.lock();
        if kept.lines.len() == CAPACITY {
            kept.lines.pop_front();
            kept.dropped += 1;
        }
        kept.lines.push_back(line);
        drop(kept);
        self.added.notify_waiters();
    }

    pub(crate) fn host(&self, copy: usize, level: LogLevel, text: impl Into<String>) {
        self.add(LogLine { copy, source: LogSource::Host, level, text: text.into() });
    }

    pub(crate) fn lines(&self) -> Vec<LogLine> {
        self.lock().lines.iter().cloned().collect()
    }

    /// Waits until more than `count` lines were ever added and returns those after them, with the new count.
    pub(crate) async fn after(&self, count: usize) -> (Vec<LogLine>, usize) {
        loop {
            let added = self.added.notified();
            let (new, total) = {
                let kept = self.lock();
                let skipped = count.saturating_sub(kept.dropped);
                (kept.lines.iter().skip(skipped).cloned().collect::<Vec<_>>(), kept.dropped + kept.lines.len())
            };
            if total > count {
                return (new, total);
            }
            added.await;
        }
    }

    /// Waits until a line, old or new, satisfies the predicate.
    pub(crate) async fn wait_for(&self, predicate: impl Fn(&LogLine) -> bool) -> LogLine {
        loop {
            // Registered before looking, so that a line added in between still wakes this.
            let added = self.added.notified();
            let found = self.lock().lines.iter().find(|line| predicate(line)).cloned();
            if let Some(line) = found {
                return line;
            }
            added.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The level of a line the handler printed.
pub(crate) fn classify(source: LogSource, text: &str, stderr_is_errors: bool) -> LogLevel {
    match source {
        LogSource::Stderr if text.to_ascii_lowercase().contains("warn") => LogLevel::Warning,
        LogSource::Stderr if stderr_is_errors => LogLevel::Error,
        _ => LogLevel::Information,
    }
}
