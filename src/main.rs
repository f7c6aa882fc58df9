//! The `a2a-functions` command.

fn main() {}
