//! Findings as text for people, with the source underlined, and as JSON for programs.

use std::cmp::Ordering;
use std::collections::HashMap;

use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use serde_json::{Value, json};

use super::{Diagnostic, Diagnostics, Severity};

/// How many findings about one file are shown.
const MAX_SHOWN: usize = 50;
/// The longest line that is shown, in bytes.
const MAX_LINE: usize = 1000;

/// The findings as texts without line ends, and for each file with very many a text that says how many are left out.
pub fn render_all(diagnostics: &Diagnostics, color: bool) -> impl Iterator<Item = String> {
    let mut shown: HashMap<Option<&str>, usize> = HashMap::new();
    diagnostics.iter().filter_map(move |diagnostic| {
        let file = diagnostic.file.as_deref();
        let shown = shown.entry(file).or_default();
        *shown += 1;
        match (*shown).cmp(&(MAX_SHOWN + 1)) {
            Ordering::Less => Some(render(diagnostic, color)),
            Ordering::Equal => {
                let more = diagnostics.made_about(file) - MAX_SHOWN;
                let place = file.unwrap_or("this folder");
                Some(format!("… and {more} more about {place}; correct those above, or see `check --json`"))
            }
            Ordering::Greater => None,
        }
    })
}

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
    // The line alone: with the whole file, many findings would take a time that grows with its square.
    let line = diagnostic.excerpt().map(|(source, span)| (source, span, source.line(span)));
    if let Some((source, span, (number, start, text))) = line.filter(|(.., (.., text))| text.len() <= MAX_LINE) {
        let annotation =
            AnnotationKind::Primary.span(span.start - start..span.end - start).label(diagnostic.field.as_deref());
        let snippet = Snippet::source(text).line_start(number).path(source.file.as_str()).annotation(annotation);
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
    json!({ "diagnostics": items, "summary": diagnostics.summary(), "omitted": diagnostics.omitted() })
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
            "omitted": 0,
        });
        assert_eq!(to_json(&findings), expected);
    }

    #[test]
    fn a_place_in_a_late_line_and_at_the_end_of_a_file_is_shown() {
        let source = Source::new("f", "é: 1\n\nç: x\n");
        let at = |span: crate::config::Span| {
            render(&Diagnostic::new(Severity::Note, Code::WrongType, "m").at(&source, &span), false)
        };
        assert!(at(11..12).contains("--> f:3:4") && at(11..12).contains("3 | ç: x\n  |    ^"), "{}", at(11..12));
        for offset in [0, 6, 7, 13] {
            assert!(at(offset..offset).contains("--> f:"), "{offset}: {}", at(offset..offset));
        }
        let long = Source::new("f", &format!("{}: x", "k".repeat(2000)));
        let text = render(&Diagnostic::new(Severity::Note, Code::WrongType, "m").at(&long, &(2002..2003)), false);
        assert!(text.contains("--> f:1:2003") && text.len() < 100, "{text}");
    }

    #[test]
    fn very_many_findings_are_counted_rather_than_shown() {
        let mut findings = Diagnostics::default();
        for file in ["a", "b"] {
            for _ in 0..20_000 {
                findings.push(Diagnostic::new(Severity::Skip, Code::UnknownField, "x").in_file(file));
            }
        }
        findings.push(Diagnostic::new(Severity::Error, Code::NoAgents, "the last"));
        let texts: Vec<_> = render_all(&findings, false).collect();
        assert_eq!(texts.len(), 51 + 51 + 1);
        assert!(texts[50].starts_with("… and 19950 more about a;"), "{}", texts[50]);
        assert!(texts[102].contains("the last"));
        let json = to_json(&findings);
        assert_eq!(json["diagnostics"].as_array().unwrap().len(), 2001);
        assert_eq!((&json["omitted"], &json["summary"]["skipped"]), (&json!(38_000), &json!(40_000)));
        assert!(findings.stop_the_app());
    }
}
