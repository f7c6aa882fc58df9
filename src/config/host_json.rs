//! The route prefix of `host.json`.

use std::path::Path;

use super::{Code, Diagnostic, Environment, Node, Severity, Source, Span, parse_json, variables};

const FILE: &str = "host.json";
const FIELD: &str = "extensions.http.routePrefix";
/// What the Functions host uses when the file says nothing.
const HOST_DEFAULT: &str = "api";

/// The prefix of every route, without slashes at its ends; empty without a `host.json`.
///
/// # Errors
/// A finding that stops the app: the file is unreadable, or the prefix cannot be part of a path.
pub fn route_prefix(root: &Path, environment: &Environment) -> Result<String, Box<Diagnostic>> {
    let mut set = environment.host_settings();
    if let Some((_, prefix)) = set.find(|(path, _)| path == "extensions:http:routeprefix") {
        return checked(prefix).map_err(|fault| Box::new(fault.finding().field(variables::ROUTE_PREFIX.name)));
    }
    let Some(source) = Source::read(root, FILE, Severity::Error)? else {
        return Ok(String::new());
    };
    let host = parse_json(&source, Severity::Error)?;
    let http = host.get_any_case("extensions").and_then(|extensions| extensions.get_any_case("http"));
    let Some(node) = http.and_then(|http| http.get_any_case("routePrefix")) else {
        let profile = host.get_any_case("configurationProfile").and_then(Node::as_str).unwrap_or_default().trim();
        let has_profile = !profile.is_empty() && !profile.eq_ignore_ascii_case("default");
        // Every profile of the host takes the prefix away.
        return Ok(if has_profile { String::new() } else { HOST_DEFAULT.to_owned() });
    };
    let at = |fault: Diagnostic, span: &Span| Box::new(fault.at(&source, span).field(FIELD));
    match node.as_str() {
        Some(prefix) => checked(prefix).map_err(|fault| at(fault.finding(), &node.span)),
        None => Err(at(
            Diagnostic::new(
                Severity::Error,
                Code::WrongType,
                format!("`routePrefix` must be a string, found {}", node.kind()),
            )
            .help("write `\"routePrefix\": \"\"` for routes at the root"),
            &node.span,
        )),
    }
}

/// Why a prefix cannot be served, and the remedy.
struct Fault(&'static str, &'static str);

impl Fault {
    fn finding(self) -> Diagnostic {
        Diagnostic::new(Severity::Error, Code::RoutePrefix, self.0).help(self.1)
    }
}

fn checked(prefix: &str) -> Result<String, Fault> {
    const MAX_LENGTH: usize = 256;
    let trimmed = prefix.trim_matches('/');
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
    let segments = || trimmed.split('/');
    if trimmed.is_empty() {
        return Ok(String::new());
    }
    if trimmed.len() > MAX_LENGTH
        || segments().any(|segment| segment.is_empty() || matches!(segment, "." | "..") || !segment.chars().all(plain))
    {
        return Err(Fault(
            "the route prefix is not a plain path",
            "use letters, digits, `-`, `_`, `.` and `~`, with single `/` between segments",
        ));
    }
    let reserved = ["admin", "runtime"];
    if segments().next().is_some_and(|first| reserved.iter().any(|name| first.eq_ignore_ascii_case(name))) {
        return Err(Fault(
            "the Functions host keeps paths under `admin` and `runtime` for itself",
            "choose another route prefix, such as `\"\"`",
        ));
    }
    Ok(trimmed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str, environment: &Environment) -> Result<String, Code> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), text).unwrap();
        route_prefix(folder.path(), environment).map_err(|finding| finding.code)
    }

    #[test]
    fn the_prefix_is_read_as_the_functions_host_reads_it() {
        let with = |value: &str| format!(r#"{{"extensions": {{"http": {{"routePrefix": {value}}}}}}}"#);
        let cases = [
            (with(r#""""#), Ok("")),
            (with(r#""/""#), Ok("")),
            (with(r#""v1/agents/""#), Ok("v1/agents")),
            (r#"{"Extensions": {"HTTP": {"ROUTEPREFIX": "x"}}}"#.to_owned(), Ok("x")),
            (r#"{"version": "2.0"}"#.to_owned(), Ok("api")),
            (String::new(), Ok("api")),
            (r#"{"configurationProfile": "mcp-custom-handler"}"#.to_owned(), Ok("")),
            (r#"{"ConfigurationProfile": "Default"}"#.to_owned(), Ok("api")),
            (with("null"), Err(Code::WrongType)),
            (with(r#""a b""#), Err(Code::RoutePrefix)),
            (with(r#""{x}""#), Err(Code::RoutePrefix)),
            (with(r#""a//b""#), Err(Code::RoutePrefix)),
            (with(r#""..""#), Err(Code::RoutePrefix)),
            (with(r#""Admin/x""#), Err(Code::RoutePrefix)),
            ("{".to_owned(), Err(Code::SyntaxInvalid)),
        ];
        for (text, expected) in cases {
            assert_eq!(prefix(&text, &Environment::default()), expected.map(str::to_owned), "{text}");
        }
    }

    #[test]
    fn an_app_setting_outranks_the_file() {
        let environment = Environment::from([(variables::ROUTE_PREFIX.name, "set")]);
        assert_eq!(prefix("{}", &environment).as_deref(), Ok("set"));
        let environment = Environment::from([("AZUREFUNCTIONSJOBHOST__Extensions__HTTP__RoutePrefix", "set")]);
        assert_eq!(prefix("{}", &environment).as_deref(), Ok("set"));
    }

    #[test]
    fn a_folder_without_host_json_has_no_prefix() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(route_prefix(folder.path(), &Environment::default()).unwrap(), "");
    }
}
