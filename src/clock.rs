//! Time and randomness as values that are handed in, so that every rule built on them can be replayed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use rand::RngExt as _;

/// Milliseconds since the Unix epoch (UTC).
///
/// Stored rows keep times in this unit; it orders and subtracts without a calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The instant `millis` milliseconds after the Unix epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The instant `duration` later, saturating at the end of time.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(millis))
    }

    /// How long it is from `self` until `later`; zero when `later` is not later.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(later.0.saturating_sub(self.0))
    }
}

/// Where the code learns the time of day. Waiting is done with `tokio::time`, which tests can pause.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The current time.
    fn now(&self) -> Timestamp;
}

/// The operating system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Where the code gets unpredictable numbers: identifiers, owner tokens and jitter.
pub trait Random: Send + Sync + std::fmt::Debug {
    /// Sixteen unpredictable bytes.
    fn bytes16(&self) -> [u8; 16];

    /// A number in `0.0..1.0`, for jitter.
    fn unit(&self) -> f64 {
        let [a, b, c, d, ..] = self.bytes16();
        f64::from(u32::from_le_bytes([a, b, c, d])) / (f64::from(u32::MAX) + 1.0)
    }

    /// A fresh identifier: 32 lower-case hexadecimal digits, 128 bits of randomness.
    fn id(&self) -> String {
        HEXLOWER.encode(&self.bytes16())
    }
}

/// The thread-local cryptographic generator, seeded by the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    fn bytes16(&self) -> [u8; 16] {
        rand::rng().random()
    }
}
