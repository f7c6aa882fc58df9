//! The two parts of an agent file: the settings between two lines of dashes, and the prompt after them.

use std::sync::Arc;

use crate::config::{Code, Diagnostic, Severity, Source, Span};

/// Where the settings and the prompt are in the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts {
    /// The YAML between the fences.
    pub settings: Span,
    /// All that follows, without white space at its ends.
    pub body: Span,
}

/// Splits at the fences: lines of three or more dashes.
///
/// # Errors
/// No front matter, or one that never ends, leaves the agent out with the given severity. Settings that would be lost only
/// because something stands before the first fence stop the app.
pub(super) fn split(source: &Arc<Source>, severity: Severity) -> Result<Parts, Box<Diagnostic>> {
    let fault = |severity, code, span: Span, message: &str, help: &str| {
        Err(Box::new(Diagnostic::new(severity, code, message).at(source, &span).help(help)))
    };
    let text = source.text.as_str();
    let mut fences = fences(text);
    let Some(opening) = fences.next() else {
        return fault(
            severity,
            Code::FrontMatterMissing,
            0..0,
            "this file has no front matter",
            "begin it with a line `---`, then `name:` and `description:`, then another line `---`",
        );
    };
    if opening.start > 0 {
        if !text[..opening.start].trim().is_empty() {
            return fault(
                severity,
                Code::FrontMatterMissing,
                0..opening.start,
                "the front matter must come first, but there is text before it",
                "move the line `---` and the settings to the top of the file",
            );
        }
        return fault(
            Severity::Error,
            Code::FrontMatterLate,
            0..opening.start,
            "there is a blank line before the front matter",
            "remove it: the first line of the file must be `---`",
        );
    }
    let Some(closing) = fences.next() else {
        return fault(
            severity,
            Code::FrontMatterUnclosed,
            opening,
            "this front matter has no end",
            "add a line `---` after the settings",
        );
    };
    Ok(Parts { settings: opening.end..closing.start, body: trimmed(text, closing.end) })
}

/// The lines of dashes, each with its line end.
fn fences(text: &str) -> impl Iterator<Item = Span> + '_ {
    let mut at = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        let dashes = line.trim_end();
        let is_fence = dashes.len() >= 3 && dashes.bytes().all(|byte| byte == b'-');
        is_fence.then_some(start..at)
    })
}

fn trimmed(text: &str, from: usize) -> Span {
    let end = from + text[from..].trim_end().len();
    let start = end - text[from..end].trim_start().len();
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Result<(String, String), (Code, Severity)> {
        let source = Source::new("a.agent.md", text);
        split(&source, Severity::Skip)
            .map(|parts| (source.text[parts.settings].to_owned(), source.text[parts.body].to_owned()))
            .map_err(|finding| (finding.code, finding.severity))
    }

    #[test]
    fn c095_line_ends_and_byte_order_mark_change_nothing() {
        let expected = Ok(("name: A\n".to_owned(), "Hello\nyou".to_owned()));
        let texts = [
            "---\nname: A\n---\n\nHello\nyou\n",
            "---\r\nname: A\r\n---\r\n\r\nHello\r\nyou\r\n",
            "\u{feff}---\r\nname: A\r\n---\r\nHello\r\nyou",
            "---\r\nname: A\n---\nHello\r\nyou\n",
            "---  \nname: A\n-----\nHello\nyou",
        ];
        for text in texts {
            assert_eq!(parts(text), expected, "{text:?}");
        }
    }

    #[test]
    fn c095_settings_never_vanish_silently() {
        let cases = [
            ("\n---\nname: A\n---\nx", Code::FrontMatterLate, Severity::Error),
            ("\u{feff}\r\n---\r\nname: A\r\n---\r\nx", Code::FrontMatterLate, Severity::Error),
            ("Hi\n---\nname: A\n---\nx", Code::FrontMatterMissing, Severity::Skip),
            ("Hello", Code::FrontMatterMissing, Severity::Skip),
            ("", Code::FrontMatterMissing, Severity::Skip),
            ("---\nname: A\n", Code::FrontMatterUnclosed, Severity::Skip),
        ];
        for (text, code, severity) in cases {
            assert_eq!(parts(text), Err((code, severity)), "{text:?}");
        }
    }

    #[test]
    fn the_prompt_may_hold_lines_of_dashes_and_be_empty() {
        assert_eq!(parts("---\na: 1\n---\nx\n---\ny").unwrap().1, "x\n---\ny");
        assert_eq!(parts("---\n---\n").unwrap(), (String::new(), String::new()));
    }
}
