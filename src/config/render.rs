//! Findings as text for people, with the source underlined, and as JSON for programs.

use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use serde_json::{Value, json};

use super::{Diagnostic, Diagnostics, Severity};

/// One finding as text, without a line end; `color` adds terminal escapes.
pub fn render(diagnostic: &Diagnostic, color: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Skip => Level::ERROR.with_name("agent left out"),
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut group =
        level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.id()).elements(place(diagnostic));
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

fn place(diagnostic: &Diagnostic) -> Option<Element<'_>> {
    if let Some((source, span)) = diagnostic.excerpt() {
        let annotation = AnnotationKind::Primary.span(span.clone()).label(diagnostic.field.as_deref());
        let snippet = Snippet::source(source.text.as_str()).path(source.file.as_str()).annotation(annotation);
        return Some(snippet.into());
    }
    let file = diagnostic.file.as_deref()?;
    let origin = Origin::path(file);
    Some(match diagnostic.position() {
        Some(position) => origin.line(position.line).char_column(position.column).into(),
        None => origin.into(),
    })
}

/// All findings in their stable shape for programs, as `docs/diagnostics.md` describes it.
pub fn to_json(diagnostics: &Diagnostics) -> Value {
    let items: Vec<Value> = diagnostics
        .iter()
        .map(|diagnostic| {
            let position = diagnostic.position();
            json!({
                "severity": diagnostic.severity,
                "code": diagnostic.code.id(),
                "file": diagnostic.file,
                "line": position.map(|position| position.line),
                "column": position.map(|position| position.column),
                "field": diagnostic.field,
                "message": diagnostic.message,
                "help": diagnostic.help,
            })
        })
        .collect();
    json!({ "diagnostics": items, "summary": diagnostics.summary() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Code, Source};

    fn finding() -> Diagnostic {
        let source = Source::new("a.agent.md", "---\nname: A\ntimeout: soon\n---\n");
        let span = 21..25;
        Diagnostic::new(Severity::Skip, Code::WrongType, "`timeout` must be a number")
            .at(&source, &span)
            .field("timeout")
            .help("write a number")
    }

    #[test]
    fn text_shows_the_place_underlined() {
        let expected = "\
agent left out[A2F0203]: `timeout` must be a number
 --> a.agent.md:3:10
  |
3 | timeout: soon
  |          ^^^^ timeout
  |
  = help: write a number";
        assert_eq!(render(&finding(), false), expected);
    }

    #[test]
    fn a_finding_that_may_hold_a_secret_names_the_place_only() {
        let expected = "\
agent left out[A2F0203]: `timeout` must be a number
--> a.agent.md:3:10
 = help: write a number";
        assert_eq!(render(&finding().without_excerpt(), false), expected);
    }

    #[test]
    fn color_is_added_on_request_only() {
        assert!(render(&finding(), true).contains("\u{1b}["));
        assert!(!render(&finding(), false).contains('\u{1b}'));
    }

    #[test]
    fn json_has_every_member_always() {
        let mut findings = Diagnostics::default();
        findings.push(finding());
        findings.push(Diagnostic::new(Severity::Note, Code::NothingServed, "nothing"));
        let expected = json!({
            "diagnostics": [
                {
                    "severity": "skip", "code": "A2F0203", "file": "a.agent.md", "line": 3, "column": 10,
                    "field": "timeout", "message": "`timeout` must be a number", "help": "write a number",
                },
                {
                    "severity": "note", "code": "A2F0109", "file": null, "line": null, "column": null,
                    "field": null, "message": "nothing", "help": null,
                },
            ],
            "summary": { "errors": 0, "skipped": 1, "warnings": 0, "notes": 1 },
        });
        assert_eq!(to_json(&findings), expected);
    }
}
