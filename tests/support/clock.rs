//! A clock that stands still until a test moves it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use a2a_functions::clock::{Clock, Timestamp};

/// Starts at a fixed instant and moves only by [`ManualClock::advance`].
#[derive(Debug)]
pub(crate) struct ManualClock(AtomicU64);

impl ManualClock {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(1_800_000_000_000))
    }

    pub(crate) fn advance(&self, by: Duration) {
        let millis = u64::try_from(by.as_millis()).expect("a test does not wait for ages");
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}
