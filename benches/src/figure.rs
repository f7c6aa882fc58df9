//! The results: figures beside the bars that they should clear, as a table or as JSON.

use std::fmt;

use serde::Serialize;

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    Microseconds,
    Milliseconds,
    Mebibytes,
}

impl fmt::Display for Unit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::Mebibytes => "MiB",
        })
    }
}

/// One thing that was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    pub(crate) value: f64,
    /// The same of the bare echo, where it has it.
    pub(crate) echo: Option<f64>,
    /// How many times the echo's, the median over all rounds.
    pub(crate) ratio: Option<f64>,
    pub(crate) bar: Option<Bar>,
}

/// The most that a figure may be.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bar {
    Ratio(f64),
    Value(f64),
}

impl Figure {
    /// Whether the bar is cleared; `None` without a bar.
    pub(crate) fn holds(&self) -> Option<bool> {
        Some(match self.bar? {
            Bar::Ratio(most) => self.ratio? <= most,
            Bar::Value(most) => self.value <= most,
        })
    }
}

/// The figures as a table.
pub(crate) fn table(figures: &[Figure]) -> String {
    let name = figures.iter().map(|figure| figure.name.len()).max().unwrap_or_default();
    let mut text = format!("{:name$}  {:>10}  {:>10}  {:>7}  {:>10}\n", "", "server", "bare echo", "ratio", "at most");
    for figure in figures {
        let unit = figure.unit;
        let echo = figure.echo.map(|echo| format!("{echo:.2} {unit}")).unwrap_or_default();
        let ratio = figure.ratio.map(|ratio| format!("{ratio:.2}x")).unwrap_or_default();
        let bar = match figure.bar {
            Some(Bar::Ratio(most)) => format!("{most:.1}x"),
            Some(Bar::Value(most)) => format!("{most:.1} {unit}"),
            None => String::new(),
        };
        let verdict = match figure.holds() {
            Some(true) => "ok",
            Some(false) => "MISSED",
            None => "",
        };
        let value = format!("{:.2} {unit}", figure.value);
        let line = format!("{:name$}  {value:>10}  {echo:>10}  {ratio:>7}  {bar:>10}  {verdict}", figure.name);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The middle one of `values`, or the mean of the two in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.get(middle) {
        None => f64::NAN,
        Some(upper) if values.len() % 2 == 1 => *upper,
        Some(upper) => f64::midpoint(*upper, values[middle - 1]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(bar: Option<Bar>) -> Figure {
        Figure { name: "x", unit: Unit::Milliseconds, value: 9.0, echo: Some(4.0), ratio: Some(2.25), bar }
    }

    #[test]
    fn a_bar_is_held_against_the_ratio_or_the_value() {
        for (bar, expected) in [
            (None, None),
            (Some(Bar::Ratio(2.25)), Some(true)),
            (Some(Bar::Ratio(2.2)), Some(false)),
            (Some(Bar::Value(9.0)), Some(true)),
            (Some(Bar::Value(8.9)), Some(false)),
        ] {
            assert_eq!(figure(bar).holds(), expected, "{bar:?}");
        }
    }

    #[test]
    fn a_missed_bar_shows_in_the_table() {
        let table = table(&[figure(Some(Bar::Ratio(2.0)))]);
        assert!(table.contains("9.00 ms") && table.contains("2.25x") && table.contains("MISSED"), "{table}");
    }

    #[test]
    fn the_median_does_not_depend_on_the_order() {
        assert!((median(vec![5.0, 1.0, 3.0]) - 3.0).abs() < f64::EPSILON);
        assert!((median(vec![4.0, 1.0, 3.0, 2.0]) - 2.5).abs() < f64::EPSILON);
    }
}
