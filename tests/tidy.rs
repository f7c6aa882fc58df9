//! The shape of the source tree: what `docs/architecture.md` says of it must be so.
//!
//! Each rule reads the files as text and answers with `file:line: what is wrong`, all findings at once.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use a2a_functions::agents::load;
use a2a_functions::app::{App, AppParts, StoreChoice};
use a2a_functions::config::Environment;
use a2a_functions::host_traits::HostTraits;

/// Most lines of a file under `src/`.
const MAX_LINES: usize = 450;
/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 8] = ["util", "utils", "helper", "helpers", "common", "misc", "manager", "handler"];
/// What is to be reached from a few places only, and those places.
const CONFINED: [(&str, &[&str]); 16] = [
    ("rusqlite::", &["src/store/sqlite/"]),
    ("azure_identity::", &["src/http/token.rs"]),
    ("azure_core::", &["src/http/token.rs", "src/store/azure_table/", "src/runner/openai/credential.rs"]),
    ("reqwest::", &["src/http/", "src/runner/openai/"]),
    ("lambda_http::", &["src/edge/lambda.rs"]),
    ("axum::", &["src/edge/", "src/binding/jsonrpc/endpoint.rs"]),
    ("hyper::", &["src/edge/server"]),
    ("a2a_pb::", &["src/protocol/wire.rs"]),
    ("rmp_serde::", &["src/context/record.rs"]),
    ("saphyr", &["src/config/yaml.rs"]),
    ("rand::", &["src/clock.rs"]),
    ("std::env", &["src/config/environment.rs"]),
    ("println!", &["src/cli/output.rs"]),
    ("print!", &["src/cli/output.rs"]),
    ("eprintln!", &["src/cli/output.rs"]),
    ("eprint!", &["src/cli/output.rs"]),
];
/// Back ends, which only `app` chooses between.
const BACK_ENDS: [&str; 3] = ["store::memory", "store::sqlite", "store::azure_table"];

/// A text file of the repository.
struct File {
    /// Relative to the repository, with `/`.
    path: String,
    text: String,
}

impl File {
    fn read(path: &str) -> Self {
        let text = fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        Self { path: path.to_owned(), text }
    }

    /// Lines of code with their numbers, comments left out.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(index, line)| (index + 1, line));
        lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// The lines of [`File::code`] before the file's tests; none for a file of tests.
    fn production(&self) -> impl Iterator<Item = (usize, &str)> {
        let is_test = self.path.ends_with("/tests.rs") || self.path.contains("/tests/");
        let end = self.text.lines().position(|line| line.starts_with("mod tests {")).unwrap_or(usize::MAX);
        self.code().filter(move |(number, _)| !is_test && *number <= end)
    }

    /// The module of the crate that a file under `src/` belongs to, and how deep in it the file is.
    fn module(&self) -> (&str, usize) {
        let path = self.path.strip_prefix("src/").unwrap().strip_suffix(".rs").unwrap();
        let path = path.strip_suffix("/mod").unwrap_or(path);
        (path.split('/').next().unwrap(), path.split('/').count())
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files with this ending under a folder, in order; what tools put there is left out.
fn files(folder: &str, ending: &str) -> Vec<File> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = folder.join(&name);
            if entry.file_type().unwrap().is_dir() {
                if name != "node_modules" && name != "target" && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if name.ends_with(ending) {
                found.push(File::read(path.to_str().unwrap()));
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(!found.is_empty(), "no {ending} under {folder}");
    found
}

#[track_caller]
fn assert_none(findings: &[String]) {
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}

/// The ranks of the modules, from the table between the marks in `docs/architecture.md`.
fn ranks() -> BTreeMap<String, u32> {
    let map = File::read("docs/architecture.md").text;
    let table = map.split("<!-- begin ranks -->").nth(1).unwrap().split("<!-- end ranks -->").next().unwrap();
    let mut ranks = BTreeMap::new();
    for row in table.lines() {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let (Some(rank), Some(modules)) = (cells.next().and_then(|rank| rank.parse().ok()), cells.next()) else {
            continue;
        };
        for module in modules.split('`').skip(1).step_by(2) {
            assert!(ranks.insert(module.to_owned(), rank).is_none(), "{module} has two ranks");
        }
    }
    ranks
}

/// The modules of the crate that a line of code names, in a file `depth` deep. `Err` for a form that hides them.
fn modules_named(line: &str, depth: usize) -> Result<Vec<&str>, &'static str> {
    let mut named = Vec::new();
    for (at, prefix) in line.match_indices("crate::").chain(line.match_indices("a2a_functions::")) {
        let rest = &line[at + prefix.len()..];
        if rest.starts_with('{') {
            return Err("several modules in one `use`: give each a line of its own");
        }
        named.push(rest);
    }
    let supers = line.matches("super::").count();
    if supers >= depth
        && let Some(at) = line.rfind("super::")
    {
        named.push(&line[at + "super::".len()..]);
    }
    let word = |rest: &'_ str| rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    Ok(named.into_iter().map(|rest| &rest[..word(rest)]).collect())
}

#[test]
fn every_module_has_a_rank_and_every_rank_a_module() {
    let lib = File::read("src/lib.rs");
    let modules = lib.code().filter_map(|(_, line)| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let modules: BTreeSet<_> = modules.chain(["main"]).map(str::to_owned).collect();
    let ranked: BTreeSet<_> = ranks().into_keys().collect();
    assert_eq!(modules, ranked, "src/lib.rs and the table of docs/architecture.md");
}

#[test]
fn modules_use_lower_ranks_only() {
    let ranks = ranks();
    let mut findings = Vec::new();
    for file in files("src", ".rs") {
        let (module, mut depth) = file.module();
        let Some(own) = ranks.get(module) else { continue };
        for (number, line) in file.code() {
            depth += usize::from(line.starts_with("mod tests {"));
            let named = modules_named(line, depth).unwrap_or_else(|fault| {
                findings.push(format!("{}:{number}: {fault}", file.path));
                Vec::new()
            });
            for other in named.into_iter().filter(|other| *other != module) {
                if ranks.get(other).is_some_and(|rank| rank >= own) {
                    findings.push(format!("{}:{number}: {module} uses {other}, whose rank is not lower", file.path));
                }
            }
        }
    }
    assert_none(&findings);
}

#[test]
fn the_modules_of_a_line_are_found_in_every_form() {
    for (line, depth, expected) in [
        ("use crate::edge::Door;", 1, Ok(vec!["edge"])),
        ("    let door: crate::edge::Door<crate::app::App>;", 2, Ok(vec!["edge", "app"])),
        ("use super::edge::Door;", 1, Ok(vec!["edge"])),
        ("use super::super::edge;", 2, Ok(vec!["edge"])),
        ("use super::routes;", 2, Ok(vec![])),
        ("use crate::{edge, app};", 1, Err(())),
        ("use a2a_functions::cli::run;", 1, Ok(vec!["cli"])),
    ] {
        assert_eq!(modules_named(line, depth).map_err(drop), expected, "{line}");
    }
}

#[test]
fn files_say_what_they_are_for_and_stay_small() {
    let mut findings = Vec::new();
    for file in files("src", ".rs").iter().chain(&files("tests", ".rs")) {
        if !file.text.starts_with("//! ") {
            findings.push(format!("{}:1: no `//!` line that says what the file is for", file.path));
        }
        let lines = file.text.lines().count();
        if file.path.starts_with("src/") && lines > MAX_LINES {
            findings.push(format!("{}:{lines}: more than {MAX_LINES} lines", file.path));
        }
        let stem = Path::new(&file.path).components().filter_map(|part| part.as_os_str().to_str());
        if stem.map(|part| part.trim_end_matches(".rs")).any(|part| EMPTY_NAMES.contains(&part)) {
            findings.push(format!("{}:1: the name says nothing about what is inside", file.path));
        }
    }
    assert_none(&findings);
}

#[test]
fn libraries_and_side_doors_stay_in_their_places() {
    let mut findings = Vec::new();
    for file in files("src", ".rs") {
        for (number, line) in file.code() {
            for (name, places) in CONFINED {
                let inside = places.iter().any(|place| file.path.starts_with(place));
                let uses = line.match_indices(name).any(|(at, _)| {
                    // Not the end of a longer name.
                    !line[..at].ends_with(|before: char| before.is_ascii_alphanumeric() || before == '_')
                });
                if uses && !inside {
                    findings.push(format!("{}:{number}: {name} belongs to {}", file.path, places.join(", ")));
                }
            }
        }
        for (number, line) in file.production() {
            let chooses = file.path == "src/app.rs" || file.path.starts_with("src/store/");
            if let Some(name) = BACK_ENDS.iter().find(|name| line.contains(*name) && !chooses) {
                findings.push(format!("{}:{number}: only src/app.rs chooses {name}", file.path));
            }
        }
    }
    assert_none(&findings);
}

#[test]
fn the_door_knows_every_route_of_the_function_templates() {
    let agent = "---\nname: One\ndescription: One.\nbuiltin_endpoints:\n  http_auth: anonymous\n  a2a:\n    url: \
                 http://localhost/a2a\n---\n";
    let mut findings = Vec::new();
    for prefix in ["", "api"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("one.agent.md"), agent).unwrap();
        let host = format!(r#"{{"version": "2.0", "extensions": {{"http": {{"routePrefix": "{prefix}"}}}}}}"#);
        fs::write(folder.path().join("host.json"), host).unwrap();
        let loaded = load(folder.path(), Environment::default());
        let parts = AppParts {
            catalog: loaded.catalog.as_ref().unwrap(),
            environment: &loaded.environment,
            host: HostTraits {
                checks_keys: true,
                sets_invocation_id: true,
                forwards_host: true,
                checks_authority: true,
                vouches_for_principals: false,
                development: false,
            },
            store: StoreChoice::Memory,
            local: false,
        };
        let app = App::build(&parts).unwrap();
        for file in files("function-templates", "function.json") {
            let function: serde_json::Value = serde_json::from_str(&file.text).unwrap();
            let route = function["bindings"][0]["route"].as_str().unwrap().replace("SLUG", "one");
            let path = format!("/{prefix}/{route}").replace("//", "/");
            if !app.door.knows(&path) {
                findings.push(format!("{}:1: nothing is served at {path}", file.path));
            }
        }
        assert!(!app.door.knows("/agents/two/a2a"), "the door knows agents that do not exist");
    }
    assert_none(&findings);
}

/// Everything that is written in markdown, apart from the agents of examples and tests.
fn pages() -> Vec<File> {
    let mut pages = files("docs", ".md");
    pages.extend(["README.md", "CHANGELOG.md"].map(File::read));
    pages
}

/// The heading's name in addresses, as code hosts make it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut findings = Vec::new();
    for page in pages() {
        let folder = Path::new(&page.path).parent().unwrap().to_owned();
        for (number, line) in page.text.lines().enumerate() {
            for target in line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target) {
                if target.contains("://") {
                    continue;
                }
                let (path, heading) = target.split_once('#').map_or((target, None), |(path, it)| (path, Some(it)));
                let path = if path.is_empty() { PathBuf::from(&page.path) } else { folder.join(path) };
                let text = fs::read_to_string(root().join(&path)).unwrap_or_default();
                let found = match heading {
                    Some(heading) => text.lines().any(|line| line.starts_with('#') && anchor(line) == heading),
                    None => root().join(&path).exists(),
                };
                if !found {
                    findings.push(format!("{}:{}: {target} does not exist", page.path, number + 1));
                }
            }
        }
    }
    assert_none(&findings);
}

#[test]
fn paths_that_texts_mention_exist() {
    const FOLDERS: [&str; 6] = ["src/", "tests/", "docs/", "examples/", "function-templates/", ".ci/"];
    let mut findings = Vec::new();
    for file in pages().iter().chain(&files("src", ".rs")).chain(&files("tests", ".rs")) {
        let is_page = Path::new(&file.path).extension().is_some_and(|ending| ending == "md");
        for (index, line) in file.text.lines().enumerate() {
            let is_code = !is_page && !line.trim_start().starts_with("//");
            for name in line.split('`').skip(1).step_by(2) {
                let is_path = !is_code
                    && FOLDERS.iter().any(|folder| name.starts_with(folder))
                    && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte));
                if is_path && !root().join(name).exists() {
                    findings.push(format!("{}:{}: {name} does not exist", file.path, index + 1));
                }
            }
        }
    }
    assert_none(&findings);
}

#[test]
fn the_map_lists_every_decision_and_every_test_binary() {
    let map = File::read("docs/architecture.md").text;
    let mut findings = Vec::new();
    let mut numbers = BTreeSet::new();
    for decision in files("docs/decisions", ".md") {
        let name = decision.path.strip_prefix("docs/").unwrap();
        if !map.contains(&format!("]({name})")) {
            findings.push(format!("{}:1: no link in docs/architecture.md", decision.path));
        }
        if !numbers.insert(name.split('-').next().unwrap().to_owned()) {
            findings.push(format!("{}:1: another decision has this number", decision.path));
        }
    }
    for entry in fs::read_dir(root().join("tests")).unwrap() {
        let path = entry.unwrap().path();
        let is_binary = path.join("main.rs").exists() || path.extension().is_some_and(|ending| ending == "rs");
        let name = path.file_stem().unwrap().to_str().unwrap();
        if is_binary && !map.contains(&format!("| `{name}` |")) {
            findings.push(format!("tests/{name}:1: no row in the table of docs/architecture.md"));
        }
    }
    assert_none(&findings);
}
