//! One contract suite for every storage back end.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../support/azurite.rs"]
mod azurite;
mod backends;
mod bench;
#[path = "../support/clock.rs"]
mod clock;
mod contracts;
mod requests;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

use backends::Backend;
use bench::Bench;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for backend in Backend::ALL {
        for contract in contracts::all() {
            trials.push(Trial::test(format!("{}::{}", backend.name(), contract.name), move || {
                block_on(async { (contract.run)(Bench::new(backend).await).await });
                Ok(())
            }));
        }
    }
    trials.push(Trial::test("azure_table::a_turn_is_three_requests", || {
        block_on(requests::a_turn_is_three_requests());
        Ok(())
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Runs one trial on a runtime of its own, with threads: back ends are used in parallel.
fn block_on(trial: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime starts").block_on(trial);
}
