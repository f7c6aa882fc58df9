//! When a failed attempt is repeated: full jitter, the provider's own wish, and never past the deadline.

use std::time::{Duration, SystemTime};

use http::HeaderMap;

use super::failure::Retry;

/// How failed attempts are repeated.
#[derive(Debug, Clone, Copy)]
pub struct RetryPolicy {
    /// Attempts of one turn, the first included.
    pub attempts: u32,
    /// The longest wait after the first attempt; doubled after each further one.
    pub base: Duration,
    /// The longest wait that the client chooses itself.
    pub cap: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 5, base: Duration::from_millis(500), cap: Duration::from_secs(20) }
    }
}

impl RetryPolicy {
    /// How long to wait before the next attempt when `attempt` (counted from one) failed, or `None` to give up.
    ///
    /// `unit` is random in `0.0..1.0`, `left` is the time until the turn's deadline. A wait that the provider asks for is
    /// spread by up to `base`, so that clients which were turned away together do not come back together.
    pub(super) fn pause(self, attempt: u32, retry: Retry, unit: f64, left: Duration) -> Option<Duration> {
        if attempt >= self.attempts {
            return None;
        }
        let pause = match retry {
            Retry::Never => return None,
            Retry::Backoff => {
                let ceiling = self.base.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(self.cap);
                ceiling.mul_f64(unit)
            }
            Retry::After(asked) => asked.saturating_add(self.base.mul_f64(unit)),
        };
        (pause < left).then_some(pause)
    }
}

/// The wait that a response asks for: `retry-after-ms` (Azure OpenAI), or `Retry-After` in seconds or as an HTTP date
/// (RFC 9110, section 10.2.3).
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|text| text.parse().ok()) {
        return Some(Duration::from_millis(millis));
    }
    let text = text("retry-after")?;
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RetryPolicy =
        RetryPolicy { attempts: 4, base: Duration::from_millis(100), cap: Duration::from_millis(250) };
    const LONG: Duration = Duration::from_secs(60);

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn own_waits_double_up_to_the_cap_with_full_jitter() {
        for (attempt, unit, expected) in
            [(1, 0.0, millis(0)), (1, 0.5, millis(50)), (2, 0.5, millis(100)), (3, 0.5, millis(125))]
        {
            assert_eq!(POLICY.pause(attempt, Retry::Backoff, unit, LONG), Some(expected), "{attempt} {unit}");
        }
    }

    #[test]
    fn the_providers_wait_is_a_minimum() {
        assert_eq!(POLICY.pause(1, Retry::After(millis(3000)), 0.0, LONG), Some(millis(3000)));
        assert_eq!(POLICY.pause(3, Retry::After(millis(3000)), 0.5, LONG), Some(millis(3050)));
    }

    #[test]
    fn a_wait_that_the_deadline_would_interrupt_is_not_begun() {
        assert_eq!(POLICY.pause(1, Retry::After(millis(3000)), 0.0, millis(3000)), None);
        assert_eq!(POLICY.pause(1, Retry::After(Duration::MAX), 0.9, LONG), None);
        assert_eq!(POLICY.pause(1, Retry::Backoff, 0.5, millis(50)), None);
        assert_eq!(POLICY.pause(1, Retry::Backoff, 0.5, millis(51)), Some(millis(50)));
    }

    #[test]
    fn attempts_are_counted_and_lasting_failures_end_at_once() {
        assert_eq!(POLICY.pause(4, Retry::Backoff, 0.0, LONG), None);
        assert_eq!(POLICY.pause(1, Retry::Never, 0.0, LONG), None);
        let endless = RetryPolicy { attempts: u32::MAX, ..POLICY };
        assert_eq!(endless.pause(1_000_000, Retry::Backoff, 1.0, LONG), Some(POLICY.cap));
    }

    #[test]
    fn every_form_of_the_wish_is_understood() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        for (name, value, expected) in [
            ("retry-after", "7", Some(millis(7000))),
            ("retry-after", " 0 ", Some(millis(0))),
            ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", Some(millis(7000))),
            ("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT", Some(millis(0))),
            ("retry-after", "soon", None),
            ("retry-after", "-1", None),
            ("retry-after-ms", "25", Some(millis(25))),
            ("retry-after-ms", "x", None),
            ("x-other", "7", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            assert_eq!(retry_after(&headers, now), expected, "{name}: {value}");
        }
    }

    #[test]
    fn milliseconds_are_the_more_exact_wish() {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", "1".parse().unwrap());
        headers.insert("retry-after-ms", "25".parse().unwrap());
        assert_eq!(retry_after(&headers, SystemTime::UNIX_EPOCH), Some(millis(25)));
    }
}
