//! Many processes, one store, every storage call a place to crash or to lose an answer: what must hold in all
//! interleavings. Time is virtual and all chance comes from one seed, so a failing run repeats exactly.
//!
//! `A2A_SIM_SEED=<seed>` repeats one run, `A2A_SIM_RUNS=<n>` sets how many are tried.

#![expect(clippy::unwrap_used, reason = "a simulation that cannot go on has failed")]

mod world;

use world::World;

const DEFAULT_RUNS: u64 = 2_000;

#[test]
fn in_all_interleavings_history_stays_in_order_and_acknowledged_turns_are_kept_once() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seeds = match number("A2A_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("A2A_SIM_RUNS").unwrap_or(DEFAULT_RUNS),
    };
    let mut totals = world::Totals::default();
    for seed in seeds.clone() {
        match World::run(seed) {
            Ok(run) => totals += run,
            Err(failure) => panic!("seed {seed}: {}\n{}", failure.what, failure.trace.join("\n")),
        }
    }
    println!("{totals:?}");
    // A simulation in which nothing goes wrong proves nothing.
    if seeds.end - seeds.start > 100 {
        assert!(totals.crashes > 100 && totals.lost_answers > 100 && totals.takeovers > 10, "{totals:?}");
        assert!(totals.replays > 100 && totals.acknowledged > 1_000, "{totals:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let trace = |seed| World::trace(seed).unwrap_or_else(|failure| panic!("{}", failure.what));
    assert_eq!(trace(42), trace(42));
    assert_ne!(trace(42), trace(43));
}
