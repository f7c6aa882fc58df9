//! The HTTP functions that the Functions host makes of `host.json` instead of folders: `customHandler.http.routes`, and the
//! route that a `configurationProfile` brings. App settings outrank the file, key by key.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::http_functions::{HttpFunction, Obscure};
use crate::config::{Environment, Node, Severity, Source, Value, parse_json};

const FILE: &str = "host.json";
const ROUTES: &str = "customhandler:http:routes:";
const DEFAULT_LEVEL: &str = "customhandler:http:defaultauthorizationlevel";

/// Settings as .NET flattens them: paths in lower case with `:` between their steps, and texts.
type Settings = BTreeMap<String, String>;

/// The HTTP functions of `root/host.json` and the app settings.
pub(super) fn of_host_json(root: &Path, environment: &Environment) -> Result<Vec<HttpFunction>, Obscure> {
    let settings = settings(root, environment)?;
    let filled = |path: &str| settings.get(path).map(String::as_str).filter(|value| !value.trim().is_empty());
    let mut indices: BTreeSet<&str> =
        settings.keys().filter_map(|path| path.strip_prefix(ROUTES)?.split(':').next()).collect();
    let profile = filled("configurationprofile").unwrap_or("default").trim();
    if !profile.eq_ignore_ascii_case("default") {
        // Every profile leads all requests to the handler, unless route 0 is written out.
        indices.insert("0");
    }
    let of = |index: &str, key: &str| filled(&format!("{ROUTES}{index}:{key}"));
    let functions = indices.into_iter().map(|index| HttpFunction {
        origin: format!("{FILE} or an app setting, customHandler.http.routes:{index}"),
        route: of(index, "route").unwrap_or("{*route}").to_owned(),
        level: of(index, "authorizationlevel").or_else(|| filled(DEFAULT_LEVEL)).unwrap_or("function").to_owned(),
    });
    Ok(functions.collect())
}

fn settings(root: &Path, environment: &Environment) -> Result<Settings, Obscure> {
    let node = Source::read(root, FILE, Severity::Error)
        .and_then(|source| source.map(|source| parse_json(&source, Severity::Error)).transpose())
        .map_err(|finding| Obscure::new(FILE, finding.message))?;
    let mut settings = Settings::new();
    if let Some(node) = node {
        flatten(&node, "", &mut settings)?;
    }
    let mut set = Settings::new();
    for (path, value) in environment.host_settings() {
        if set.insert(path.clone(), value.to_owned()).is_some_and(|other| other != value) {
            let origin = "the app settings `AzureFunctionsJobHost__…`";
            return Err(Obscure::new(origin, format!("`{path}` is set twice, in different letter case")));
        }
    }
    settings.extend(set);
    Ok(settings)
}

fn flatten(node: &Node, path: &str, settings: &mut Settings) -> Result<(), Obscure> {
    let step = |name: &str| {
        let name = name.to_ascii_lowercase();
        if path.is_empty() { name } else { format!("{path}:{name}") }
    };
    let text = match &node.value {
        Value::Map(entries) => {
            return entries.iter().try_for_each(|entry| flatten(&entry.node, &step(&entry.key), settings));
        }
        Value::List(items) => {
            let mut items = items.iter().enumerate();
            return items.try_for_each(|(index, item)| flatten(item, &step(&index.to_string()), settings));
        }
        Value::Null => String::new(),
        Value::Bool(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::String(text) => text.clone(),
    };
    match settings.insert(path.to_owned(), text) {
        None => Ok(()),
        Some(_) => Err(Obscure::new(FILE, format!("`{path}` is written twice"))),
    }
}
