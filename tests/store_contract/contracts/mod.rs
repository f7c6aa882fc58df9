//! The contracts: what every back end must do, each a trial of its own against each back end.

mod atomicity;
mod bounds;
mod concurrency;
mod expiry;
mod ranges;
pub(crate) mod turns;
mod writes;

use std::pin::Pin;

use crate::bench::Bench;

/// One promise of the storage trait.
pub(crate) struct Contract {
    pub(crate) name: &'static str,
    pub(crate) run: fn(Bench) -> Pin<Box<dyn Future<Output = ()>>>,
}

/// Lists async functions of a module as contracts under their own names.
macro_rules! contracts {
    ($($name:ident),* $(,)?) => {
        pub(crate) fn all() -> Vec<$crate::contracts::Contract> {
            vec![$($crate::contracts::Contract { name: stringify!($name), run: |bench| Box::pin($name(bench)) }),*]
        }
    };
}
use contracts;

pub(crate) fn all() -> Vec<Contract> {
    [writes::all(), atomicity::all(), expiry::all(), ranges::all(), bounds::all(), concurrency::all(), turns::all()]
        .into_iter()
        .flatten()
        .collect()
}
