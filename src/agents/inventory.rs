//! What else an app folder offers its agents: MCP servers, skills and Python tools, by name.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::discover::either_spelling;
use super::front_matter;
use crate::config::{Code, Diagnostic, Diagnostics, Entry, Node, Severity, Source, Value, parse_json, parse_yaml};

const MCP_FILE: &str = "mcp.json";
const SKILL_FILE: &str = "SKILL.md";
/// How deep skill folders may nest.
const MAX_SKILL_DEPTH: usize = 16;
const MAX_SKILL_NAME: usize = 64;

/// Names of what is there.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    pub mcp_servers: BTreeSet<String>,
    pub skills: BTreeSet<String>,
    pub python_tools: BTreeSet<String>,
}

impl Inventory {
    /// Looks through the folder.
    pub(super) fn read(root: &Path, findings: &mut Diagnostics) -> Self {
        Self {
            mcp_servers: mcp_servers(root, findings),
            skills: skills(root, findings),
            python_tools: python_tools(root),
        }
    }
}

/// The servers of `mcp.json` that can be used. A broken file or entry is left out with a warning, as in the runtime.
fn mcp_servers(root: &Path, findings: &mut Diagnostics) -> BTreeSet<String> {
    let ignored = |message: &str| {
        Diagnostic::new(Severity::Warning, Code::McpServerIgnored, message)
            .in_file(MCP_FILE)
            .help("write an object `servers` with one object for each server, each with a `url`")
    };
    let source = match Source::read(root, MCP_FILE, Severity::Warning) {
        Ok(Some(source)) => source,
        Ok(None) => return BTreeSet::new(),
        Err(finding) => {
            findings.push(*finding);
            return BTreeSet::new();
        }
    };
    let node = match parse_json(&source, Severity::Warning) {
        Ok(node) => node,
        Err(finding) => {
            findings.push(*finding);
            return BTreeSet::new();
        }
    };
    let Some(servers) = node.get("servers").and_then(Node::entries) else {
        findings.push(ignored("this file has no object `servers`, so it gives no MCP server"));
        return BTreeSet::new();
    };
    let mut names = BTreeSet::new();
    for entry in servers {
        if let Some(reason) = unusable(&entry.node) {
            let name = source.shown(&entry.key_span);
            findings.push(
                ignored(&format!("the server {name} is ignored: {reason}"))
                    .at(&source, &entry.key_span)
                    .field(format!("servers.{}", entry.key)),
            );
        } else {
            names.insert(entry.key.clone());
        }
    }
    names
}

/// Why a server cannot be used, if it cannot.
fn unusable(server: &Node) -> Option<&'static str> {
    let Some(entries) = server.entries() else {
        return Some("it is not an object");
    };
    let text = |key: &str| {
        let entry: Option<&Entry> = entries.iter().find(|entry| entry.key == key);
        entry.and_then(|entry| entry.node.as_str())
    };
    let kind = text("type").map(str::to_ascii_lowercase);
    if !matches!(kind.as_deref(), None | Some("http" | "streamable-http")) {
        return Some("only the types `http` and `streamable-http` exist");
    }
    let has_url = text("url").is_some_and(|url| !url.trim().is_empty());
    (!has_url).then_some("it has no `url`")
}

/// The names of all `SKILL.md` files. A name that is missing, invalid or taken stops the app; a file that is not YAML is
/// left out with a warning.
fn skills(root: &Path, findings: &mut Diagnostics) -> BTreeSet<String> {
    let mut files = Vec::new();
    if let Some(folder) = either_spelling(root, ["skills", "Skills"]) {
        skill_files(root, folder, 0, &mut files);
    }
    files.sort_by_key(|file| file.to_lowercase());
    let mut names = BTreeSet::new();
    for file in files {
        match skill_name(root, &file) {
            Ok(name) => {
                if let Some(name) = name.filter(|name| !names.insert(name.clone())) {
                    findings.push(
                        Diagnostic::new(
                            Severity::Error,
                            Code::SkillName,
                            format!("another skill has the name `{name}` already"),
                        )
                        .in_file(file)
                        .field("name")
                        .help("give each skill its own name"),
                    );
                }
            }
            Err(finding) => findings.push(*finding),
        }
    }
    names
}

fn skill_files(root: &Path, folder: &str, depth: usize, files: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(root.join(folder)) else {
        return;
    };
    for entry in entries.flatten() {
        let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
            continue;
        };
        let path = format!("{folder}/{name}");
        // Links to folders are not followed: they can form circles.
        if kind.is_dir() && depth < MAX_SKILL_DEPTH {
            skill_files(root, &path, depth + 1, files);
        } else if name == SKILL_FILE && !entry.path().is_dir() {
            files.push(path);
        }
    }
}

fn skill_name(root: &Path, file: &str) -> Result<Option<String>, Box<Diagnostic>> {
    let Some(source) = Source::read(root, file, Severity::Warning)? else {
        return Ok(None);
    };
    let parts = front_matter::split(&source, Severity::Error)?;
    let node = parse_yaml(&source, &parts.settings, Severity::Warning)?;
    let name = node.get("name").filter(|name| name.value != Value::Null);
    let span = name.map_or(0..0, |name| name.span.clone());
    match name.and_then(Node::as_str).map(str::trim) {
        Some(name) if is_skill_name(name) => Ok(Some(name.to_owned())),
        _ => Err(Box::new(
            Diagnostic::new(Severity::Error, Code::SkillName, "this skill has no valid name")
                .at(&source, &span)
                .field("name")
                .help("write lower-case letters and digits, with single hyphens between them, at most 64 characters"),
        )),
    }
}

fn is_skill_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= MAX_SKILL_NAME && name.split('-').all(|word| !word.is_empty() && word.chars().all(plain))
}

fn python_tools(root: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(root.join("tools")).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| Path::new(name).extension().is_some_and(|it| it == "py") && !name.starts_with('_'))
        .collect()
}
