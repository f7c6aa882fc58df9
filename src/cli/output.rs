//! The only writer to standard output and standard error.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

use super::ExitStatus;
use crate::config::{Diagnostics, Environment, render_all, variables};

/// One of the two streams, and whether it may carry colors.
struct Stream {
    writer: Box<dyn Write + Send>,
    color: bool,
    failure: Option<io::Error>,
}

impl Stream {
    fn new(writer: impl Write + Send + 'static, color: bool) -> Self {
        Self { writer: Box::new(writer), color, failure: None }
    }

    /// Writes a line, unless an earlier one could not be written.
    fn line(&mut self, text: &str) {
        if self.failure.is_none() {
            self.failure = writeln!(self.writer, "{text}").and_then(|()| self.writer.flush()).err();
        }
    }

    fn findings(&mut self, findings: &Diagnostics) {
        for text in render_all(findings, self.color) {
            self.line(&text);
            self.line("");
        }
    }
}

/// Results go to standard output, everything about the way there to standard error.
pub struct Output {
    results: Stream,
    messages: Stream,
}

impl Output {
    /// The streams of the process: colored on a terminal, unless `NO_COLOR` is set to anything (<https://no-color.org>) or
    /// `TERM` is `dumb`.
    pub fn of_process(environment: &Environment) -> Self {
        let wanted = environment.get(variables::NO_COLOR.name).is_none_or(str::is_empty)
            && environment.get(variables::TERM.name) != Some("dumb");
        let (results, messages) = (io::stdout(), io::stderr());
        Self {
            results: Stream::new(io::stdout(), wanted && results.is_terminal()),
            messages: Stream::new(io::stderr(), wanted && messages.is_terminal()),
        }
    }

    /// The exit status of a command: a result that could not be written is none. A reader that has gone has read what it
    /// wanted.
    pub fn finish(mut self, status: ExitStatus) -> ExitStatus {
        match self.results.failure.take() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                self.message(&format!("error: the result cannot be written: {error}"));
                ExitStatus::Usage
            }
            _ => status,
        }
    }

    /// Writes a line of the result.
    pub fn line(&mut self, text: &str) {
        self.results.line(text);
    }

    /// Writes a result for programs.
    pub fn json(&mut self, value: &Value) {
        self.results.line(&format!("{value:#}"));
    }

    /// Writes findings that are the result.
    pub fn findings(&mut self, findings: &Diagnostics) {
        self.results.findings(findings);
    }

    /// Writes a line that is not part of the result.
    pub fn message(&mut self, text: &str) {
        self.messages.line(text);
    }

    /// Writes findings that came up on the way to the result.
    pub fn message_findings(&mut self, findings: &Diagnostics) {
        self.messages.findings(findings);
    }
}

impl std::fmt::Debug for Output {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let colors = (self.results.color, self.messages.color);
        formatter.debug_struct("Output").field("colors", &colors).finish_non_exhaustive()
    }
}
