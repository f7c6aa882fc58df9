//! The HTTP functions that the Functions host makes of an app folder, read as the host reads them.
//!
//! The host is lenient: letter case of names, comments and byte order marks do not matter to it. What it may understand and
//! this file does not is an error, never nothing: a function that goes unseen may open an agent to everybody.

use std::fs;
use std::path::Path;

use crate::config::{Node, Severity, Source, Value, parse_json};

const FILE: &str = "function.json";

/// A function that answers requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HttpFunction {
    /// Where it is written, for people.
    pub origin: String,
    /// Its route template, without the route prefix.
    pub route: String,
    /// The level as it is written.
    pub level: String,
}

/// A file or setting that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {problem}, so it is not known which callers the Functions host lets in: correct it, or remove it")]
pub struct Obscure {
    origin: String,
    problem: String,
}

impl Obscure {
    pub(super) fn new(origin: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { origin: origin.into(), problem: problem.into() }
    }
}

/// The HTTP functions of all folders below `root`, disabled ones too: an app setting may enable them at any time.
pub(super) fn of_folders(root: &Path) -> Result<Vec<HttpFunction>, Obscure> {
    let mut functions = Vec::new();
    for folder in names_in(root).map_err(|error| Obscure::new(root.display().to_string(), error.to_string()))? {
        let path = root.join(&folder);
        if !path.is_dir() {
            continue;
        }
        let mut files = names_in(&path).map_err(|error| Obscure::new(&folder, error.to_string()))?;
        // Some file systems do not tell letter case apart.
        files.retain(|name| name.eq_ignore_ascii_case(FILE));
        for file in files {
            functions.extend(of_file(root, &folder, &file)?);
        }
    }
    Ok(functions)
}

/// The names in a folder, in order. A name that is not UTF-8 is no function's.
fn names_in(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string().ok());
    }
    names.sort();
    Ok(names)
}

fn of_file(root: &Path, folder: &str, file: &str) -> Result<Vec<HttpFunction>, Obscure> {
    let origin = format!("{folder}/{file}");
    let obscure = |problem: &str| Obscure::new(&origin, problem);
    let node = Source::read(root, &origin, Severity::Error)
        .and_then(|source| source.map(|source| parse_json(&source, Severity::Error)).transpose())
        .map_err(|finding| obscure(&finding.message))?;
    let Some(node) = node else { return Ok(Vec::new()) };
    node.entries().ok_or_else(|| obscure("it holds no object"))?;
    let bindings = match member(&node, "bindings", &origin)?.map(|bindings| &bindings.value) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::List(bindings)) => bindings,
        Some(_) => return Err(obscure("`bindings` is not a list")),
    };
    let mut functions = Vec::new();
    for binding in bindings {
        let kind = member(binding, "type", &origin)?.and_then(Node::as_str).unwrap_or_default();
        if !kind.trim().eq_ignore_ascii_case("httpTrigger") {
            continue;
        }
        let route = text(binding, "route", &origin)?.filter(|route| !route.trim().is_empty());
        functions.push(HttpFunction {
            route: route.unwrap_or_else(|| folder.to_owned()),
            // The host asks for a function key when nothing is said.
            level: text(binding, "authLevel", &origin)?.unwrap_or_else(|| "function".to_owned()),
            origin: origin.clone(),
        });
    }
    Ok(functions)
}

/// The value of a key in any letter case. Two spellings of one key are refused: which one counts is the host's secret.
fn member<'n>(node: &'n Node, key: &str, origin: &str) -> Result<Option<&'n Node>, Obscure> {
    let mut same = node.entries().unwrap_or_default().iter().filter(|entry| entry.key.eq_ignore_ascii_case(key));
    let first = same.next();
    if same.next().is_some() {
        return Err(Obscure::new(origin, format!("`{key}` is written twice")));
    }
    Ok(first.map(|entry| &entry.node))
}

fn text(binding: &Node, key: &str, origin: &str) -> Result<Option<String>, Obscure> {
    match member(binding, key, origin)?.map(|node| &node.value) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Obscure::new(origin, format!("`{key}` is not a string"))),
    }
}
