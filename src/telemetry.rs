//! Log set-up: one JSON object a line on stdout for machines, short lines for a terminal.
//!
//! Field names and their units: `duration_ms` and `wait_ms` are milliseconds, `invocation_id` is the host's id of a request
//! or our own, `outcome` is a word from a closed list. What never reaches a log: keys, tokens, URLs with a query, message
//! texts, and identifiers that a client chose.

mod background;

use std::io::IsTerminal as _;

use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, fmt};

pub use background::Flush;

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum LogFormat {
    /// JSON, unless stdout is a terminal.
    #[default]
    Auto,
    /// One JSON object a line.
    Json,
    /// Lines for people.
    Text,
}

/// How lines get to stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// By whoever logs them: a host that freezes the process after an answer loses none.
    Direct,
    /// By a thread of their own: a reader that stops reading stops nobody. Lines beyond a bound are dropped and counted.
    Background,
}

/// The log could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter is not understood.
    #[error("A2A_LOG: {0}")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// Something else has set up a log already.
    #[error("the log is set up already")]
    Twice(#[from] tracing_subscriber::util::TryInitError),
}

/// Starts logging to stdout. `filter` is a `tracing` filter such as `info` or `a2a_functions=debug`; `None` is `info`.
/// What is still on its way is written when the returned value is dropped.
pub fn init(format: LogFormat, filter: Option<&str>, delivery: Delivery) -> Result<Flush, TelemetryError> {
    let filter = EnvFilter::try_new(filter.unwrap_or("info"))?;
    let json = match format {
        LogFormat::Json => true,
        LogFormat::Text => false,
        LogFormat::Auto => !std::io::stdout().is_terminal(),
    };
    let (writer, flush) = match delivery {
        Delivery::Direct => (BoxMakeWriter::new(std::io::stdout), Flush::nothing()),
        Delivery::Background => {
            let (writer, flush) = background::writer(std::io::stdout());
            (BoxMakeWriter::new(writer), flush)
        }
    };
    let registry = tracing_subscriber::registry().with(filter);
    if json {
        // Spans are for exporters, of which there is none yet; a log line stands for itself. Switched off, a span costs
        // nothing. Left on, its fields would be written into a buffer that nobody reads, at the price of several lines.
        let no_spans = filter_fn(|metadata| !metadata.is_span());
        let layer = fmt::layer().json().flatten_event(true).with_current_span(false).with_span_list(false);
        registry.with(no_spans).with(layer.with_writer(writer)).try_init()?;
    } else {
        registry.with(fmt::layer().compact().with_target(false).with_writer(writer)).try_init()?;
    }
    Ok(flush)
}
