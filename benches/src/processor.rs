//! Processor time per request, over rounds in which the echo and the agents take turns.

use crate::figure::{Bar, Figure, Unit, median};
use crate::load::Load;
use crate::program::{Programs, Running};
use crate::request::Target;
use crate::usage::processor_time;

const CONNECTIONS: usize = 8;
/// Turns of a conversation: with them a request finds between four and five earlier turns on average.
const TURNS: usize = 10;

/// Measures each target in `rounds` rounds of about `requests` requests, after one round that does not count.
pub(crate) async fn measure(programs: &Programs, rounds: usize, requests: usize) -> anyhow::Result<Vec<Figure>> {
    let echo = programs.spawn(Target::Echo, "")?;
    let server = programs.spawn(Target::Stateless, "memory")?;
    for program in [&echo, &server] {
        program.connect()?;
    }
    let (mut bare, mut stateless, mut conversation) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let load = |target| Load {
            target,
            connections: CONNECTIONS,
            contexts: requests.div_ceil(CONNECTIONS * TURNS),
            turns: TURNS,
            round,
        };
        bare.push(cost(&echo, load(Target::Echo)).await?);
        stateless.push(cost(&server, load(Target::Stateless)).await?);
        conversation.push(cost(&server, load(Target::Conversation)).await?);
    }
    for costs in [&mut bare, &mut stateless, &mut conversation] {
        costs.remove(0);
    }
    let figure = |name, costs: &[f64], most| Figure {
        name,
        unit: Unit::Microseconds,
        value: median(costs.to_vec()),
        echo: Some(median(bare.clone())),
        ratio: Some(median(costs.iter().zip(&bare).map(|(cost, bare)| cost / bare).collect())),
        bar: Some(Bar::Ratio(most)),
    };
    Ok(vec![
        figure("processor time per request, stateless", &stateless, 2.0),
        figure("processor time per request, lease and history", &conversation, 3.0),
    ])
}

/// Microseconds of processor time that the program spends on a request of `load`.
async fn cost(program: &Running, load: Load) -> anyhow::Result<f64> {
    let before = processor_time(program.pid())?;
    load.run(program.address).await?;
    let spent = processor_time(program.pid())?.saturating_sub(before);
    Ok(spent.as_secs_f64() * 1e6 / f64::from(u32::try_from(load.requests())?))
}
