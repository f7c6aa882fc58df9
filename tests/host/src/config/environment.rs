//! The environment a handler sees: what the host inherited, then app settings, then the host's own variables.

use std::collections::BTreeMap;

/// Variables by name. Names are case-sensitive, as on Linux.
#[derive(Clone, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<String, String>,
}

// Values are app settings, so they hold secrets: only the names may reach a log.
impl std::fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.variables.keys()).finish()
    }
}

impl Environment {
    /// The variables of this process that are valid Unicode.
    pub(crate) fn inherited() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self { variables }
    }

    pub(crate) fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.variables.insert(name.into(), value.into());
    }

    /// Sets a variable unless it already has a value.
    pub(crate) fn set_default(&mut self, name: &str, value: &str) {
        self.variables.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Whether a variable holds a true value as .NET reads one.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.trim().eq_ignore_ascii_case("true") || value.trim() == "1")
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Replaces each `%NAME%` by the variable's value, or by nothing when there is no such variable.
    pub(crate) fn expand(&self, text: &str) -> String {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('%') {
            expanded.push_str(before);
            match after.split_once('%') {
                Some((name, tail)) if !name.is_empty() && !name.contains(char::is_whitespace) => {
                    expanded.push_str(self.get(name).unwrap_or_default());
                    rest = tail;
                }
                _ => {
                    expanded.push('%');
                    rest = after;
                }
            }
        }
        expanded.push_str(rest);
        expanded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_names_expand_and_unknown_ones_vanish() {
        let mut environment = Environment::default();
        environment.set("PORT", "8080");
        let cases = [
            ("--port %PORT%", "--port 8080"),
            ("%PORT%%PORT%", "80808080"),
            ("a%NOPE%b", "ab"),
            ("100% of 5% b", "100% of 5% b"),
            ("%%", "%%"),
            ("plain", "plain"),
        ];
        for (text, expected) in cases {
            assert_eq!(environment.expand(text), expected, "{text}");
        }
    }

    #[test]
    fn values_stay_out_of_debug_output() {
        let mut environment = Environment::default();
        environment.set("AzureWebJobsStorage", "AccountKey=hidden");
        let shown = format!("{environment:?}");
        assert!(shown.contains("AzureWebJobsStorage") && !shown.contains("hidden"));
    }
}
