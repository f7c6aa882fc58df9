//! The .NET `TimeSpan` text form used by host.json: `[d.]hh:mm[:ss[.fffffff]]` or a bare number of days.

use std::time::Duration;

const DAY_SECONDS: u64 = 24 * 60 * 60;

/// Reads a non-negative time span; `None` when the text is not one.
pub(crate) fn parse_timespan(text: &str) -> Option<Duration> {
    let text = text.trim();
    let Some((head, rest)) = text.split_once(':') else {
        return text.parse::<u64>().ok()?.checked_mul(DAY_SECONDS).map(Duration::from_secs);
    };
    let (days, hours) = match head.split_once('.') {
        Some((days, hours)) => (days.parse::<u64>().ok()?, hours),
        None => (0, head),
    };
    let (minutes, seconds) = rest.split_once(':').unwrap_or((rest, "0"));
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let whole = days
        .checked_mul(DAY_SECONDS)?
        .checked_add(below(hours, 24)? * 3600 + below(minutes, 60)? * 60 + below(seconds, 60)?)?;
    Some(Duration::from_secs(whole) + fraction_of_second(fraction)?)
}

fn below(digits: &str, bound: u64) -> Option<u64> {
    digits.parse().ok().filter(|value| *value < bound)
}

fn fraction_of_second(digits: &str) -> Option<Duration> {
    if digits.is_empty() {
        return Some(Duration::ZERO);
    }
    if digits.len() > 7 {
        return None;
    }
    let ticks: u64 = format!("{digits:0<7}").parse().ok()?;
    Some(Duration::from_nanos(ticks * 100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_spans_read_as_dotnet_reads_them() {
        let cases = [
            ("00:00:30", Some(Duration::from_secs(30))),
            ("00:10:00", Some(Duration::from_mins(10))),
            ("1.02:03:04", Some(Duration::from_secs(93_784))),
            ("00:00:00.5", Some(Duration::from_millis(500))),
            ("01:30", Some(Duration::from_mins(90))),
            ("2", Some(Duration::from_secs(2 * DAY_SECONDS))),
            ("-00:00:01", None),
            ("00:60:00", None),
            ("30s", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_timespan(text), expected, "{text:?}");
        }
    }
}
