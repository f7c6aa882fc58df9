//! `$NAME` and `%NAME%` in texts.
//!
//! The order is part of the contract with existing folders: `$$NAME` and `%%NAME%%` are set aside first, then `$NAME` is
//! replaced, then `%NAME%` (also where a value has just brought it in), and last the escapes come back without their double
//! signs. A variable that is not set leaves its placeholder; one that is set but empty leaves nothing. `${NAME}` is no form.

use std::ops::Range;

use super::{Node, Span, Value};

/// How large the texts of a file may be once variables are replaced, in bytes: a short file may name a long value often.
const MAX_SUBSTITUTED: usize = 1024 * 1024;

/// A text is too large once its variables are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLarge;

/// The text that is too large, by its field and place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLargeAt {
    /// The field, as a dotted path.
    pub field: String,
    /// Where its value was written.
    pub span: Span,
}

/// A text after substitution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Substituted {
    /// The text.
    pub text: String,
    /// The names that were not set, in the order found.
    pub unset: Vec<String>,
}

/// Placeholders of a tree that were left, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved {
    /// The field, as a dotted path.
    pub field: String,
    /// Where its value was written.
    pub span: Span,
    /// The variable that is not set.
    pub name: String,
}

/// A piece of a text: open to substitution, or an escaped placeholder that is final.
enum Piece<'t> {
    Open(&'t str),
    Final(&'t str),
}

/// Substitutes in one text. `lookup` gives the value of a variable that is set.
pub fn substitute<'v>(text: &str, lookup: &dyn Fn(&str) -> Option<&'v str>) -> Result<Substituted, TooLarge> {
    let mut result = Substituted { text: String::with_capacity(text.len()), unset: Vec::new() };
    for piece in pieces(text) {
        match piece {
            Piece::Final(literal) => result.text.push_str(literal),
            Piece::Open(open) => {
                let dollars = replace(open, &dollar, lookup, &mut result.unset)?;
                let percents = replace(&dollars, &percent, lookup, &mut result.unset)?;
                result.text.push_str(&percents);
            }
        }
        if result.text.len() > MAX_SUBSTITUTED {
            return Err(TooLarge);
        }
    }
    Ok(result)
}

/// Substitutes in a Markdown text, outside of fenced code blocks. A fence that is never closed protects the rest.
pub fn substitute_body<'v>(body: &str, lookup: &dyn Fn(&str) -> Option<&'v str>) -> Result<String, TooLarge> {
    const FENCE: &str = "```";
    let mut result = String::with_capacity(body.len());
    for (index, part) in body.split(FENCE).enumerate() {
        if index > 0 {
            result.push_str(FENCE);
        }
        if index % 2 == 0 {
            result.push_str(&substitute(part, lookup)?.text);
        } else {
            result.push_str(part);
        }
        if result.len() > MAX_SUBSTITUTED {
            return Err(TooLarge);
        }
    }
    Ok(result)
}

/// Substitutes in every string of a tree, keys aside, and lists the placeholders that were left.
pub fn substitute_node<'v>(
    node: &mut Node,
    lookup: &dyn Fn(&str) -> Option<&'v str>,
) -> Result<Vec<Unresolved>, TooLargeAt> {
    let mut walk = Walk { lookup, left: MAX_SUBSTITUTED, unresolved: Vec::new() };
    walk.node(node, "")?;
    Ok(walk.unresolved)
}

struct Walk<'l, 'v> {
    lookup: &'l dyn Fn(&str) -> Option<&'v str>,
    /// Bytes that the texts to come may have.
    left: usize,
    unresolved: Vec<Unresolved>,
}

impl Walk<'_, '_> {
    fn node(&mut self, node: &mut Node, path: &str) -> Result<(), TooLargeAt> {
        let step = |name: &str| {
            if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
        };
        match &mut node.value {
            Value::String(text) => {
                let too_large = || TooLargeAt { field: path.to_owned(), span: node.span.clone() };
                let substituted = substitute(text, self.lookup).map_err(|TooLarge| too_large())?;
                self.left = self.left.checked_sub(substituted.text.len()).ok_or_else(too_large)?;
                *text = substituted.text;
                self.unresolved.extend(substituted.unset.into_iter().map(|name| Unresolved {
                    field: path.to_owned(),
                    span: node.span.clone(),
                    name,
                }));
            }
            Value::List(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.node(item, &step(&index.to_string()))?;
                }
            }
            Value::Map(entries) => {
                for entry in entries {
                    self.node(&mut entry.node, &step(&entry.key))?;
                }
            }
            Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) => {}
        }
        Ok(())
    }
}

/// A form that a placeholder may have: the length of the match at the start of a text, and the name in it.
type Form = dyn Fn(&str) -> Option<(usize, &str)>;

/// `$NAME`
fn dollar(text: &str) -> Option<(usize, &str)> {
    let name = name_at_start(text.strip_prefix('$')?)?;
    Some((1 + name.len(), name))
}

/// `%NAME%`
fn percent(text: &str) -> Option<(usize, &str)> {
    let after = text.strip_prefix('%')?;
    let name = name_at_start(after)?;
    after[name.len()..].starts_with('%').then_some((name.len() + 2, name))
}

/// A letter or underscore, then letters, digits and underscores, all ASCII, as many as there are.
fn name_at_start(text: &str) -> Option<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    let name = &text[..end];
    name.starts_with(|c: char| !c.is_ascii_digit()).then_some(name)
}

/// Splits a text at `$$NAME` first and, in what remains, at `%%NAME%%`.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut result = Vec::new();
    for piece in split(text, &escaped_dollar) {
        match piece {
            Piece::Open(open) => result.extend(split(open, &escaped_percent)),
            literal @ Piece::Final(_) => result.push(literal),
        }
    }
    result
}

/// An escape at the start of a text: the part of it that stays, and its whole length.
type Escape = dyn Fn(&str) -> Option<(Range<usize>, usize)>;

fn escaped_dollar(text: &str) -> Option<(Range<usize>, usize)> {
    let (length, _) = dollar(text.strip_prefix('$')?)?;
    Some((1..1 + length, 1 + length))
}

fn escaped_percent(text: &str) -> Option<(Range<usize>, usize)> {
    let (length, _) = percent(text.strip_prefix('%')?)?;
    let closed = text[1 + length..].starts_with('%');
    closed.then_some((1..1 + length, length + 2))
}

fn split<'t>(text: &'t str, escape: &Escape) -> Vec<Piece<'t>> {
    let mut result = Vec::new();
    let mut open = 0;
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if let Some((literal, length)) = escape(&text[at..]) {
            result.push(Piece::Open(&text[open..at]));
            result.push(Piece::Final(&text[at..][literal]));
            at += length;
            open = at;
        } else {
            at += first.len_utf8();
        }
    }
    result.push(Piece::Open(&text[open..]));
    result
}

fn replace<'v>(
    text: &str,
    form: &Form,
    lookup: &dyn Fn(&str) -> Option<&'v str>,
    unset: &mut Vec<String>,
) -> Result<String, TooLarge> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, name) = form(rest).map_or((first.len_utf8(), None), |(length, name)| (length, Some(name)));
        if let Some(value) = name.and_then(lookup) {
            result.push_str(value);
        } else {
            result.push_str(&rest[..length]);
            unset.extend(name.map(ToOwned::to_owned));
        }
        if result.len() > MAX_SUBSTITUTED {
            return Err(TooLarge);
        }
        rest = &rest[length..];
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Severity, Source, parse_yaml};

    fn lookup(name: &str) -> Option<&'static str> {
        match name {
            "A" => Some("alpha"),
            "_B2" => Some("beta"),
            "EMPTY" => Some(""),
            "PERCENT_A" => Some("<%A%>"),
            "DOLLAR_A" => Some("<$A>"),
            "HALF" => Some("%A"),
            "ESCAPED" => Some("$$A"),
            _ => None,
        }
    }

    #[test]
    fn placeholders_become_values() {
        let cases = [
            ("", ""),
            ("plain", "plain"),
            ("$A", "alpha"),
            ("%A%", "alpha"),
            ("x$A.y", "xalpha.y"),
            ("$A$_B2", "alphabeta"),
            ("%A%%_B2%", "alphabeta"),
            ("$A-B", "alpha-B"),
            ("%A-B%", "%A-B%"),
            ("${A}", "${A}"),
            ("$9X", "$9X"),
            ("%9X%", "%9X%"),
            ("$", "$"),
            ("%", "%"),
            ("100%", "100%"),
            ("é$Aé", "éalphaé"),
            ("[$EMPTY]", "[]"),
            ("[%EMPTY%]", "[]"),
            ("$UNSET", "$UNSET"),
            ("%UNSET%", "%UNSET%"),
            ("%UNSET%A%", "%UNSET%A%"),
            ("$AB", "$AB"),
        ];
        for (text, expected) in cases {
            assert_eq!(substitute(text, &lookup).unwrap().text, expected, "{text:?}");
        }
    }

    #[test]
    fn doubled_signs_are_literal() {
        let cases = [
            ("$$A", "$A"),
            ("$$$A", "$$A"),
            ("$$UNSET", "$UNSET"),
            ("%%A%%", "%A%"),
            ("%%UNSET%%", "%UNSET%"),
            ("$$A $A", "$A alpha"),
            ("%%A%% %A%", "%A% alpha"),
            ("$$ A", "$$ A"),
            ("%% A%%", "%% A%%"),
            ("$A$$A", "alpha$A"),
        ];
        for (text, expected) in cases {
            assert_eq!(substitute(text, &lookup).unwrap().text, expected, "{text:?}");
        }
    }

    #[test]
    fn a_percent_form_that_a_value_brings_in_is_replaced_and_a_dollar_form_is_not() {
        let cases = [
            ("$PERCENT_A", "<alpha>"),
            ("%PERCENT_A%", "<%A%>"),
            ("$DOLLAR_A", "<$A>"),
            ("%DOLLAR_A%", "<$A>"),
            ("$HALF%", "alpha"),
            ("$ESCAPED", "$$A"),
        ];
        for (text, expected) in cases {
            assert_eq!(substitute(text, &lookup).unwrap().text, expected, "{text:?}");
        }
    }

    #[test]
    fn names_that_are_not_set_are_listed_and_escapes_are_not() {
        let unset = |text| substitute(text, &lookup).unwrap().unset;
        assert_eq!(unset("$X %Y% $A $$Z %%W%%"), ["X", "Y"]);
        assert!(unset("$EMPTY").is_empty());
    }

    #[test]
    fn fenced_code_of_a_body_is_left_alone() {
        let cases = [
            ("$A\n```\n$A\n```\n$A", "alpha\n```\n$A\n```\nalpha"),
            ("$A `$A`", "alpha `alpha`"),
            ("$A\n```\n$A", "alpha\n```\n$A"),
        ];
        for (body, expected) in cases {
            assert_eq!(substitute_body(body, &lookup).unwrap(), expected, "{body:?}");
        }
    }

    #[test]
    fn trees_are_substituted_in_values_only_and_name_the_field_that_was_left() {
        let source = Source::new("f", "$A: [$A, {b: $UNSET}]\nn: 1");
        let mut node = parse_yaml(&source, &(0..source.text.len()), Severity::Error).unwrap();
        let left = substitute_node(&mut node, &lookup).unwrap();
        let Value::List(items) = &node.get("$A").unwrap().value else { panic!("not a list") };
        assert_eq!(items[0].as_str(), Some("alpha"));
        assert_eq!(left.len(), 1);
        assert_eq!((left[0].field.as_str(), left[0].name.as_str()), ("$A.1.b", "UNSET"));
        assert_eq!(&source.text[left[0].span.clone()], "$UNSET");
    }

    #[test]
    fn what_variables_make_of_a_text_is_bounded() {
        let value = "v".repeat(1024);
        let lookup = |name: &str| (name == "A").then_some(value.as_str());
        for placeholder in ["$A ", "%A% "] {
            let (fits, large) = (placeholder.repeat(1000), placeholder.repeat(300_000));
            assert!(substitute(&fits, &lookup).is_ok() && substitute_body(&fits, &lookup).is_ok());
            assert_eq!(substitute(&large, &lookup), Err(TooLarge));
            assert_eq!(substitute_body(&large, &lookup), Err(TooLarge));
            // The pieces of a text count together, and so do the texts of a file.
            assert_eq!(substitute(&format!("{fits}$$X{fits}"), &lookup), Err(TooLarge));
            assert_eq!(substitute_body(&format!("{fits}```x```{fits}"), &lookup), Err(TooLarge));
            let source = Source::new("f", &format!("a: '{fits}'\nb: '{fits}'"));
            let mut node = parse_yaml(&source, &(0..source.text.len()), Severity::Error).unwrap();
            assert_eq!(substitute_node(&mut node, &lookup).unwrap_err().field, "b");
        }
    }
}
