//! The environment, read once: variables of the process over the values of `local.settings.json`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::variables;

/// A snapshot of the variables that the app may use.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// The variables of this process; those that are not UTF-8 are left out.
    pub fn of_process() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// A variable that is set, possibly to an empty text.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// A variable that holds more than white space, trimmed.
    pub fn get_filled(&self, name: &str) -> Option<&str> {
        self.get(name).map(str::trim).filter(|value| !value.is_empty())
    }

    /// Sets a variable unless it is set.
    #[must_use]
    pub fn or(mut self, name: &str, value: &str) -> Self {
        self.variables.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        self
    }

    /// Adds values that are not set yet. A variable of the process wins, even when it is empty; an empty value of the file
    /// sets nothing, as with Core Tools.
    pub(super) fn fill_from(&mut self, values: impl IntoIterator<Item = (String, String)>) {
        for (name, value) in values {
            if !value.is_empty() {
                self.variables.entry(name).or_insert(value);
            }
        }
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self { variables: pairs.into_iter().collect() }
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(pairs: [(&str, &str); N]) -> Self {
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

/// Names only: values are secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.variables.keys()).finish()
    }
}

/// The app folder: the one asked for, else the variables that the runtime and the Functions host set, else the current one.
pub fn app_root(asked_for: Option<&Path>, environment: &Environment) -> PathBuf {
    let from_environment = || {
        [variables::APP_ROOT, variables::SCRIPT_ROOT]
            .into_iter()
            .find_map(|variable| environment.get_filled(variable.name))
            .map(PathBuf::from)
    };
    asked_for.map(Path::to_path_buf).or_else(from_environment).unwrap_or_else(|| PathBuf::from("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_wins_over_the_file_and_empty_values_of_the_file_set_nothing() {
        let mut environment = Environment::from([("A", "process"), ("EMPTY", "")]);
        let file = [("A", "file"), ("EMPTY", "file"), ("B", "file"), ("C", "")];
        environment.fill_from(file.map(|(name, value)| (name.into(), value.into())));
        let cases = [("A", Some("process")), ("EMPTY", Some("")), ("B", Some("file")), ("C", None)];
        for (name, expected) in cases {
            assert_eq!(environment.get(name), expected, "{name}");
        }
    }

    #[test]
    fn the_debug_form_shows_no_value() {
        let environment = Environment::from([("KEY", "s3cret")]);
        assert_eq!(format!("{environment:?}"), r#"{"KEY"}"#);
    }

    #[test]
    fn the_app_folder_is_found_in_order() {
        let both = Environment::from([("AZURE_FUNCTIONS_AGENTS_APP_ROOT", "a"), ("AzureWebJobsScriptRoot", "b")]);
        let host = Environment::from([("AZURE_FUNCTIONS_AGENTS_APP_ROOT", " "), ("AzureWebJobsScriptRoot", "b")]);
        let cases = [
            (Some("given"), &both, "given"),
            (None, &both, "a"),
            (None, &host, "b"),
            (None, &Environment::default(), "."),
        ];
        for (asked_for, environment, expected) in cases {
            assert_eq!(app_root(asked_for.map(Path::new), environment), Path::new(expected));
        }
    }
}
