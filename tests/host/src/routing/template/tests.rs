//! Which paths a template matches and what it captures.

use super::*;

/// Renders captures as `a=1 b=-`, where `-` is an unused optional parameter.
fn captures(template: &str, path: &str) -> Option<String> {
    let values = Template::parse(template).unwrap().matches(path)?;
    let shown = values.iter().map(|(name, value)| format!("{name}={}", value.as_deref().unwrap_or("-")));
    Some(shown.collect::<Vec<_>>().join(" "))
}

#[test]
fn templates_match_as_the_host_matches_them() {
    let cases = [
        ("api/chat", "/api/chat", Some("")),
        ("api/chat", "/API/Chat", Some("")),
        ("api/chat", "/api/chat/", Some("")),
        ("api/chat", "/api/chat/x", None),
        ("api/chat", "/api", None),
        ("agents/{slug}", "/agents/a b", Some("slug=a b")),
        ("agents/{slug}", "/agents/", None),
        ("agents/{slug?}", "/agents", Some("slug=-")),
        ("agents/{slug=main}", "/agents", Some("slug=main")),
        ("agents/{id:int}", "/agents/12", Some("id=12")),
        ("agents/{id:int}", "/agents/x", None),
        ("a/{n:range(1,3)}", "/a/4", None),
        ("a/{n:length(2)}", "/a/xy", Some("n=xy")),
        ("tasks/{id}:cancel", "/tasks/7:cancel", Some("id=7")),
        ("tasks/{id}:cancel", "/tasks/7:get", None),
        ("tasks/{id}:cancel", "/tasks/:cancel", None),
        ("f/{name}.{ext}", "/f/a.b.txt", Some("ext=txt name=a.b")),
        ("message:send", "/message:send", Some("")),
        ("{*rest}", "/", Some("rest=-")),
        ("{*rest}", "/a/b/c", Some("rest=a/b/c")),
        ("files/{**rest}", "/files/a/b", Some("rest=a/b")),
        ("files/{**rest}", "/files", Some("rest=-")),
        (".well-known/agent-card.json", "/.well-known/agent-card.json", Some("")),
        ("a/b", "/a//b", None),
        ("", "/", Some("")),
    ];
    for (template, path, expected) in cases {
        assert_eq!(captures(template, path).as_deref(), expected, "{template} on {path}");
    }
}

#[test]
fn malformed_templates_are_refused_with_the_reason() {
    let cases = [
        ("a/{b", TemplateProblem::Braces),
        ("a/b}", TemplateProblem::Braces),
        ("a//b", TemplateProblem::EmptySegment),
        ("a/{}", TemplateProblem::ParameterName(String::new())),
        ("{a}/{A}", TemplateProblem::DuplicateParameter("A".to_owned())),
        ("{*all}/x", TemplateProblem::CatchAllPosition),
        ("x{*all}", TemplateProblem::CatchAllPosition),
        ("{a}{b}", TemplateProblem::AdjacentParameters),
        ("x{a?}", TemplateProblem::OptionalPosition),
        ("{a:colour}", TemplateProblem::Constraint("colour".to_owned())),
    ];
    for (template, problem) in cases {
        assert_eq!(Template::parse(template).unwrap_err().problem, problem, "{template}");
    }
}
