//! Resident memory: idle, and what is left behind by many requests over many contexts.

use crate::figure::{Bar, Figure, Unit};
use crate::load::Load;
use crate::program::{Programs, sqlite};
use crate::request::Target;
use crate::usage::resident;

const CONNECTIONS: usize = 8;
const TURNS: usize = 10;
const MEBIBYTE: f64 = 1024.0 * 1024.0;

/// Measures with `requests` requests over a tenth as many contexts.
pub(crate) async fn measure(programs: &Programs, requests: usize) -> anyhow::Result<Vec<Figure>> {
    let stateless = growth(programs, Target::Stateless, "memory", requests).await?;
    // The memory store keeps conversations in memory on purpose, so the agent that has some is served from a file; from
    // one in memory where the system has such, because the disk's speed changes nothing but the time that this takes.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    let store = sqlite(folder.path());
    let conversation = growth(programs, Target::Conversation, &store, requests).await?;
    let echo = growth(programs, Target::Echo, "", requests).await?;
    let figure = |name, value, echo, most| Figure {
        name,
        unit: Unit::Mebibytes,
        value,
        echo: Some(echo),
        ratio: None,
        bar: Some(Bar::Value(most)),
    };
    Ok(vec![
        figure("memory, idle", stateless.idle, echo.idle, 10.0),
        figure("memory, idle, store in a file", conversation.idle, echo.idle, 10.0),
        figure("memory, growth, stateless", stateless.growth, echo.growth, 3.0),
        figure("memory, growth, history in a file", conversation.growth, echo.growth, 3.0),
    ])
}

/// In mebibytes.
struct Memory {
    idle: f64,
    growth: f64,
}

async fn growth(programs: &Programs, target: Target, store: &str, requests: usize) -> anyhow::Result<Memory> {
    let program = programs.spawn(target, store)?;
    program.connect()?;
    let load = |contexts, turns, round| Load { target, connections: CONNECTIONS, contexts, turns, round };
    // Idle is after the first answer: by then everything is loaded that is loaded at start.
    Load { connections: 1, ..load(1, 1, 0) }.run(program.address).await?;
    let idle = resident(program.pid())?;
    load(requests.div_ceil(CONNECTIONS * TURNS), TURNS, 1).run(program.address).await?;
    let after = resident(program.pid())?;
    let mebibytes = |bytes: u64| u32::try_from(bytes / 1024).map(|kibibytes| f64::from(kibibytes) * 1024.0 / MEBIBYTE);
    let (idle, after) = (mebibytes(idle)?, mebibytes(after)?);
    Ok(Memory { idle, growth: after - idle })
}
