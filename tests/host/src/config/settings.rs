//! Layered, case-insensitive configuration keys, flattened the way .NET configuration flattens them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::ConfigError;

/// Prefix of app settings that override a key of host.json.
const OVERRIDE_PREFIX: &str = "azurefunctionsjobhost__";

/// Flat key paths (`a:b:0:c`, lower case) with text values; a later layer replaces an earlier one key by key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    values: BTreeMap<String, String>,
}

impl Settings {
    /// Adds every leaf of a JSON document. Array items become keys by index, so a later layer merges by index.
    pub(crate) fn layer_json(&mut self, document: &Value) -> Result<(), ConfigError> {
        let mut seen = BTreeMap::new();
        flatten(document, &mut String::new(), &mut seen)?;
        self.values.extend(seen);
        Ok(())
    }

    /// Adds the app settings named `AzureFunctionsJobHost__a__b`.
    pub(crate) fn layer_environment<'a>(&mut self, variables: impl Iterator<Item = (&'a str, &'a str)>) {
        for (name, value) in variables {
            if let Some(path) = name.to_ascii_lowercase().strip_prefix(OVERRIDE_PREFIX) {
                self.values.insert(path.replace("__", ":"), value.to_owned());
            }
        }
    }

    /// The value at a key path, any case.
    pub(crate) fn get(&self, path: &str) -> Option<&str> {
        self.values.get(&path.to_ascii_lowercase()).map(String::as_str)
    }

    /// The value at a key path, unless it is blank.
    pub(crate) fn non_blank(&self, path: &str) -> Option<&str> {
        self.get(path).filter(|value| !value.trim().is_empty())
    }

    /// Whether anything exists below a section.
    pub(crate) fn has_section(&self, section: &str) -> bool {
        !self.children(section).is_empty()
    }

    /// Names directly below a section: numeric indexes in numeric order, then the others.
    pub(crate) fn children(&self, section: &str) -> Vec<String> {
        let prefix = format!("{}:", section.to_ascii_lowercase());
        let names: BTreeSet<(usize, &str)> = self
            .values
            .keys()
            .filter_map(|key| key.strip_prefix(&prefix))
            .filter_map(|rest| rest.split(':').next())
            .map(|name| (name.parse().unwrap_or(usize::MAX), name))
            .collect();
        names.into_iter().map(|(_, name)| name.to_owned()).collect()
    }

    /// A list given as an array or, as app settings do, as one text holding a JSON array. A text that is no JSON array
    /// of texts counts as no list, which is what the host does with it.
    pub(crate) fn list(&self, section: &str) -> Vec<String> {
        if let Some(text) = self.non_blank(section) {
            return serde_json::from_str(text).unwrap_or_default();
        }
        self.children(section)
            .iter()
            .filter_map(|name| self.get(&format!("{section}:{name}")).map(str::to_owned))
            .collect()
    }
}

fn flatten(value: &Value, path: &mut String, into: &mut BTreeMap<String, String>) -> Result<(), ConfigError> {
    let leaf = match value {
        Value::Object(members) => {
            return members.iter().try_for_each(|(name, value)| flatten_member(name, value, path, into));
        }
        Value::Array(items) => {
            let mut numbered = items.iter().enumerate();
            return numbered.try_for_each(|(index, value)| flatten_member(&index.to_string(), value, path, into));
        }
        // The host keeps the key of a null, with an empty text.
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match into.insert(path.clone(), leaf) {
        None => Ok(()),
        Some(_) => Err(ConfigError::DuplicateKey { key: path.clone() }),
    }
}

fn flatten_member(
    name: &str,
    value: &Value,
    path: &mut String,
    into: &mut BTreeMap<String, String>,
) -> Result<(), ConfigError> {
    let parent = path.len();
    if parent > 0 {
        path.push(':');
    }
    path.push_str(&name.to_ascii_lowercase());
    flatten(value, path, into)?;
    path.truncate(parent);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(document: &Value) -> Settings {
        let mut settings = Settings::default();
        settings.layer_json(document).unwrap();
        settings
    }

    #[test]
    fn keys_match_in_any_case() {
        let settings = settings(&json!({"CustomHandler": {"EnableProxyingHttpRequest": true}}));
        assert_eq!(settings.get("customHandler:enableProxyingHttpRequest"), Some("true"));
    }

    #[test]
    fn a_later_layer_replaces_array_items_by_index() {
        let mut settings = settings(&json!({"routes": [{"route": "a"}, {"route": "b"}]}));
        settings.layer_json(&json!({"routes": [{"route": "c"}]})).unwrap();
        assert_eq!(settings.get("routes:0:route"), Some("c"));
        assert_eq!(settings.get("routes:1:route"), Some("b"));
    }

    #[test]
    fn an_app_setting_overrides_a_nested_key() {
        let mut settings = settings(&json!({"customHandler": {"port": "1"}}));
        settings.layer_environment([("AzureFunctionsJobHost__customHandler__port", "2"), ("OTHER", "3")].into_iter());
        assert_eq!(settings.get("customHandler:port"), Some("2"));
    }

    #[test]
    fn two_spellings_of_one_key_are_refused() {
        let error = Settings::default().layer_json(&json!({"Port": 1, "port": 2})).unwrap_err();
        assert!(matches!(error, ConfigError::DuplicateKey { key } if key == "port"));
    }

    #[test]
    fn a_list_may_be_one_text_holding_a_json_array() {
        let cases = [
            (json!({"arguments": ["a", "b"]}), vec!["a", "b"]),
            (json!({"arguments": "[\"a\",\"b\"]"}), vec!["a", "b"]),
            (json!({"arguments": "a b"}), vec![]),
            (json!({}), vec![]),
        ];
        for (document, expected) in cases {
            assert_eq!(settings(&document).list("arguments"), expected, "{document}");
        }
    }

    #[test]
    fn indexes_are_ordered_as_numbers() {
        let items: Vec<Value> = (0..12).map(|index| json!(format!("v{index}"))).collect();
        let list = settings(&json!({ "items": items })).list("items");
        assert_eq!(list[2], "v2");
        assert_eq!(list[11], "v11");
    }
}
