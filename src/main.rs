//! The `a2a-functions` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    a2a_functions::cli::run()
}
