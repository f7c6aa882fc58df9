//! The only writer to standard output and standard error.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

use crate::config::{Diagnostics, Environment, render, variables};

/// One of the two streams, and whether it may carry colors.
struct Stream {
    writer: Box<dyn Write + Send>,
    color: bool,
}

impl Stream {
    fn line(&mut self, text: &str) {
        // Nobody is left to tell when the reader of a pipe has gone.
        let _ = writeln!(self.writer, "{text}");
    }

    fn findings(&mut self, findings: &Diagnostics) {
        for finding in findings {
            self.line(&render(finding, self.color));
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
            results: Stream { color: wanted && results.is_terminal(), writer: Box::new(results) },
            messages: Stream { color: wanted && messages.is_terminal(), writer: Box::new(messages) },
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
