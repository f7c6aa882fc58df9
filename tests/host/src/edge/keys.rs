//! Access keys: which level a request has reached, and whether it is the level a function asks for.

use std::{collections::BTreeMap, path::Path};

use http::HeaderMap;
use serde::Deserialize;
use subtle::ConstantTimeEq;

use crate::{
    config::{ConfigError, read_json},
    dispatch::query,
    function::AuthLevel,
};

/// The keys of an app. As JSON: `{"master": "…", "system": {name: key}, "host": {name: key},
/// "functions": {function: {name: key}}}`, every part optional.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Keys {
    /// The master key, which passes everywhere.
    pub master: Option<String>,
    /// Keys of extensions.
    pub system: BTreeMap<String, String>,
    /// Keys that open every function.
    pub host: BTreeMap<String, String>,
    /// Keys that open one function, by function name.
    pub functions: BTreeMap<String, BTreeMap<String, String>>,
}

// Only names and counts: keys are secrets.
impl std::fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Keys")
            .field("master", &self.master.is_some())
            .field("system", &self.system.keys())
            .field("host", &self.host.keys())
            .field("functions", &self.functions.keys())
            .finish()
    }
}

/// What a request proved about its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) level: AuthLevel,
    /// The name of the key that matched.
    pub(crate) key_name: Option<String>,
}

impl Identity {
    pub(crate) fn new(level: AuthLevel, key_name: Option<&str>) -> Self {
        Self { level, key_name: key_name.map(str::to_owned) }
    }

    /// Admin passes everything; any other level must be exactly the required one.
    pub(crate) fn satisfies(&self, required: AuthLevel) -> bool {
        required == AuthLevel::Anonymous || self.level == AuthLevel::Admin || self.level == required
    }
}

impl Keys {
    /// Reads keys from a JSON file.
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        serde_json::from_value(read_json(path)?).map_err(|source| ConfigError::Syntax { path: path.to_owned(), source })
    }

    /// The identity that a request's key stands for. The header decides alone when it is there, even when it is empty
    /// or wrong; only without it is the query consulted.
    pub(crate) fn identify(&self, headers: &HeaderMap, raw_query: &str, function: Option<&str>) -> Identity {
        let presented = match headers.get("x-functions-key") {
            Some(header) => header.as_bytes().to_vec(),
            None => query::first(raw_query, "code").unwrap_or_default().into_bytes(),
        };
        if is_key(&presented, self.master.as_deref().unwrap_or_default()) {
            return Identity::new(AuthLevel::Admin, Some("master"));
        }
        if let Some(name) = matching(&presented, &self.system) {
            return Identity::new(AuthLevel::System, Some(name));
        }
        let own = function.and_then(|function| {
            let named = self.functions.iter().find(|(name, _)| name.eq_ignore_ascii_case(function));
            named.map(|(_, keys)| keys)
        });
        let matched = matching(&presented, &self.host).or_else(|| own.and_then(|keys| matching(&presented, keys)));
        match matched {
            Some(name) => Identity::new(AuthLevel::Function, Some(name)),
            None => Identity::new(AuthLevel::Anonymous, None),
        }
    }
}

fn matching<'a>(presented: &[u8], keys: &'a BTreeMap<String, String>) -> Option<&'a str> {
    keys.iter().find(|(_, key)| is_key(presented, key)).map(|(name, _)| name.as_str())
}

fn is_key(presented: &[u8], key: &str) -> bool {
    !key.is_empty() && bool::from(presented.ct_eq(key.as_bytes()))
}
