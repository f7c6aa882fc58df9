//! Counting handler failures: the host gives up at the third within half an hour.

use std::time::{Duration, Instant};

/// Failures older than this are forgotten.
const WINDOW: Duration = Duration::from_mins(30);

/// Failures since the last quiet half hour.
#[derive(Debug)]
pub(crate) struct Strikes {
    limit: u32,
    count: u32,
    last: Option<Instant>,
}

impl Strikes {
    pub(crate) fn new(limit: u32) -> Self {
        Self { limit, count: 0, last: None }
    }

    /// Counts a failure at `now`; true when the host must give up. Only the previous failure's age matters: a steady
    /// drip of failures less than half an hour apart adds up.
    pub(crate) fn is_out(&mut self, now: Instant) -> bool {
        if self.last.is_some_and(|last| now.saturating_duration_since(last) > WINDOW) {
            self.count = 0;
        }
        self.last = Some(now);
        self.count += 1;
        self.count >= self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_failure_within_half_an_hour_is_the_last() {
        let start = Instant::now();
        let minutes = |count: u64| start + Duration::from_mins(count);
        let cases: [(&[u64], &[bool]); 4] = [
            (&[0, 1, 2], &[false, false, true]),
            (&[0, 31, 32], &[false, false, false]),
            (&[0, 29, 58], &[false, false, true]),
            (&[0, 1, 40, 41, 42], &[false, false, false, false, true]),
        ];
        for (times, expected) in cases {
            let mut strikes = Strikes::new(3);
            let seen: Vec<bool> = times.iter().map(|time| strikes.is_out(minutes(*time))).collect();
            assert_eq!(seen, expected, "{times:?}");
        }
    }
}
