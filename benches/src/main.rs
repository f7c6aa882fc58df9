//! Measures what the server costs beside a bare axum echo on the same machine in the same run.
//!
//! `benches/run` builds everything and starts it; `docs/performance.md` has the figures and what they mean.

mod cold_start;
mod figure;
mod load;
mod memory;
mod processor;
mod program;
mod request;
mod usage;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use figure::Figure;
use program::Programs;
use serde_json::json;

/// Measure the server beside a bare axum echo: processor time per request, cold start, memory.
#[derive(Debug, Parser)]
#[command(name = "benches/run")]
struct Arguments {
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Fail when a bar is missed.
    #[arg(long)]
    check: bool,
    /// Measure this alone; may be given several times.
    #[arg(long, value_enum)]
    only: Vec<Part>,
    /// Rounds of the measurement of processor time, of which the median counts.
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Starts of each program, of which the median counts.
    #[arg(long, default_value_t = 20)]
    starts: usize,
    /// Requests of the measurement of memory.
    #[arg(long, default_value_t = 100_000)]
    requests: usize,
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Processor time per request.
    Cpu,
    /// From the start of the process to the first answer.
    ColdStart,
    /// Resident memory.
    Memory,
}

/// Requests of one round: about a tenth of a second of the echo's time.
const REQUESTS_PER_ROUND: usize = 4000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let figures = measure(&arguments).await?;
    let text = if arguments.json {
        let figures: Vec<_> =
            figures.iter().map(|figure| json!({ "figure": figure, "holds": figure.holds() })).collect();
        format!("{:#}\n", json!(figures))
    } else {
        figure::table(&figures)
    };
    std::io::stdout().write_all(text.as_bytes())?;
    let missed = figures.iter().any(|figure| figure.holds() == Some(false));
    Ok(if arguments.check && missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn measure(arguments: &Arguments) -> anyhow::Result<Vec<Figure>> {
    let programs = Programs::locate()?;
    let wanted = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    let mut figures = Vec::new();
    if wanted(Part::Cpu) {
        figures.extend(processor::measure(&programs, arguments.rounds, REQUESTS_PER_ROUND).await?);
    }
    if wanted(Part::ColdStart) {
        figures.extend(cold_start::measure(&programs, arguments.starts).await?);
    }
    if wanted(Part::Memory) {
        figures.extend(memory::measure(&programs, arguments.requests).await?);
    }
    Ok(figures)
}
