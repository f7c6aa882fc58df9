//! From nodes to typed values, with every problem reported and none hiding the next.

use std::sync::Arc;

use super::{Code, Diagnostic, Diagnostics, Entry, Node, Severity, Source, Span, Value};

/// A type that can be read from a node.
pub trait Decode: Sized {
    /// Reads the value, or reports why not.
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self>;

    /// The value when the field is not there; `None` makes the field required.
    fn absent() -> Option<Self> {
        None
    }
}

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub span: Span,
}

impl<T: Decode> Decode for Spanned<T> {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self { value: T::decode(node, reader)?, span: node.span.clone() })
    }
}

impl<T: Decode> Decode for Option<T> {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match node.value {
            Value::Null => Some(None),
            _ => T::decode(node, reader).map(Some),
        }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// A field for which leaving it out and writing `null` differ.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Authored<T> {
    /// The field is not there.
    #[default]
    Absent,
    /// The field is `null`.
    Null,
    /// The field has a value.
    Value(T),
}

impl<T> Authored<T> {
    /// Goes on with a part of the value; an absent or `null` whole makes the part the same.
    pub fn part<U>(&self, part: impl FnOnce(&T) -> Authored<U>) -> Authored<U> {
        match self {
            Self::Absent => Authored::Absent,
            Self::Null => Authored::Null,
            Self::Value(value) => part(value),
        }
    }
}

impl<T: Decode> Decode for Authored<T> {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match node.value {
            Value::Null => Some(Self::Null),
            _ => T::decode(node, reader).map(Self::Value),
        }
    }

    fn absent() -> Option<Self> {
        Some(Self::Absent)
    }
}

/// Where reading stands: the file, the dotted path, and the findings so far.
#[derive(Debug)]
pub struct Reader<'a> {
    source: Arc<Source>,
    severity: Severity,
    path: Vec<String>,
    findings: &'a mut Diagnostics,
}

impl<'a> Reader<'a> {
    /// Starts at the root of a file. Faults of shape get the given severity.
    pub fn new(source: &Arc<Source>, severity: Severity, findings: &'a mut Diagnostics) -> Self {
        Self { source: Arc::clone(source), severity, path: Vec::new(), findings }
    }

    /// Reports a fault of shape at a place of the current field.
    pub fn report(&mut self, code: Code, span: &Span, message: impl Into<String>, help: impl Into<String>) {
        let mut finding = Diagnostic::new(self.severity, code, message).at(&self.source, span).help(help);
        if !self.path.is_empty() {
            finding = finding.field(self.path.join("."));
        }
        self.findings.push(finding);
    }

    /// Reports that the value has another type than the field.
    pub fn wrong_type(&mut self, node: &Node, expected: &str) {
        let found = match node.value {
            Value::Null => "nothing".to_owned(),
            Value::List(_) | Value::Map(_) => node.kind().to_owned(),
            _ => format!("{} `{}`", node.kind(), self.source.shown(&node.span)),
        };
        let name = self.path.last().map_or("the file", String::as_str);
        let message = format!("`{name}` must be {expected}, found {found}");
        let help = match (&node.value, expected) {
            (Value::Bool(_) | Value::Integer(_) | Value::Float(_), "a string") => "put the value in quotes".to_owned(),
            _ => format!("write {expected}"),
        };
        self.report(Code::WrongType, &node.span, message, help);
    }

    /// Reads one of the words a field knows, by exact match.
    pub fn choice<T: Copy>(&mut self, node: &Node, words: &[(&str, T)]) -> Option<T> {
        let Some(found) = node.as_str() else {
            self.wrong_type(node, "a string");
            return None;
        };
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == found) {
            return Some(*value);
        }
        let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        let message = format!(
            "`{}` is not a value that `{}` knows",
            self.source.shown(&node.span),
            self.path.last().map_or("this", String::as_str),
        );
        let help = suggestion(found, &known).map_or_else(
            || format!("write one of {}", listed(&known)),
            |word| format!("did you mean `{word}`? It knows {}", listed(&known)),
        );
        self.report(Code::UnknownChoice, &node.span, message, help);
        None
    }

    /// Starts to read a mapping; reports another type, and every key that is not one of `known`.
    pub fn fields<'n>(&mut self, node: &'n Node, known: &[&str]) -> Option<Fields<'n>> {
        let Some(entries) = node.entries() else {
            self.wrong_type(node, "a mapping");
            return None;
        };
        let unknown: Vec<_> = entries.iter().filter(|entry| !known.contains(&entry.key.as_str())).collect();
        for entry in &unknown {
            self.unknown_field(entry, known);
        }
        Some(Fields { node, entries, all_known: unknown.is_empty() })
    }

    fn unknown_field(&mut self, entry: &Entry, known: &[&str]) {
        let shown = self.source.shown(&entry.key_span);
        let help = suggestion(&entry.key, known).map_or_else(
            || format!("remove it; this place knows {}", listed(known)),
            |word| format!("did you mean `{word}`?"),
        );
        self.path.push(entry.key.clone());
        let message = format!("there is no field `{shown}` here");
        self.report(Code::UnknownField, &entry.key_span, message, help);
        self.path.pop();
    }

    /// Reads with a longer path: inside of a field, or of an item of a list.
    pub fn inside<T>(&mut self, step: impl Into<String>, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step.into());
        let value = read(self);
        self.path.pop();
        value
    }

    /// The authored text of a span, fit for a message.
    pub fn shown(&self, span: &Span) -> String {
        self.source.shown(span)
    }
}

/// The entries of a mapping whose fields are being read.
#[derive(Debug)]
pub struct Fields<'n> {
    node: &'n Node,
    entries: &'n [Entry],
    all_known: bool,
}

impl Fields<'_> {
    /// Whether every key is a field. A mapping with another key is refused: a setting may not vanish.
    pub fn are_all_known(&self) -> bool {
        self.all_known
    }

    /// Reads a field; `None` when it is wrong, or missing and required, both reported.
    pub fn read<T: Decode>(&self, name: &str, reader: &mut Reader<'_>) -> Option<T> {
        let entry = self.entries.iter().find(|entry| entry.key == name);
        reader.inside(name, |reader| match entry {
            Some(entry) => T::decode(&entry.node, reader),
            None => T::absent().or_else(|| {
                let span = self.node.span.start..self.node.span.start;
                reader.report(Code::MissingField, &span, format!("`{name}` is missing"), format!("add `{name}: …`"));
                None
            }),
        })
    }
}

/// The key of a field: its name, without the mark of a Rust keyword.
pub(crate) fn key(field: &'static str) -> &'static str {
    field.strip_prefix("r#").unwrap_or(field)
}

/// The known word that the author most likely meant.
fn suggestion<'w>(found: &str, known: &[&'w str]) -> Option<&'w str> {
    // Whatever was meant, it was no word of this length; and measuring long ones takes time and memory.
    if found.len() > 64 {
        return None;
    }
    let simple = |word: &str| word.to_ascii_lowercase().replace('-', "_");
    let found = simple(found.trim());
    let scored = known.iter().map(|word| (strsim::damerau_levenshtein(&found, &simple(word)), *word));
    let (distance, word) = scored.min_by_key(|(distance, _)| *distance)?;
    (distance * 3 <= word.len()).then_some(word)
}

fn listed(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

/// Declares a struct whose fields are the keys of a mapping, and how to read it: one source for the shape, the reader and,
/// by way of `schemars`, the published schema.
macro_rules! record {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, schemars::JsonSchema)]
        #[schemars(deny_unknown_fields)]
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $type,)*
        }

        impl $crate::config::Decode for $name {
            fn decode(
                node: &$crate::config::Node,
                reader: &mut $crate::config::Reader<'_>,
            ) -> Option<Self> {
                let fields = reader.fields(node, &[$($crate::config::key(stringify!($field))),*])?;
                // Every field is read before the first missing one ends the reading, so that all faults are reported.
                $(let $field = fields.read::<$type>($crate::config::key(stringify!($field)), reader);)*
                fields.are_all_known().then_some(Self { $($field: $field?),* })
            }
        }
    };
}
pub(crate) use record;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse_yaml;

    record! {
        struct Sample {
            name: String,
            count: Option<u32>,
            tags: Option<Vec<String>>,
        }
    }

    fn read(text: &str) -> (Option<Sample>, Vec<Diagnostic>) {
        let source = Source::new("f.yaml", text);
        let node = parse_yaml(&source, &(0..text.len()), Severity::Error).unwrap();
        let mut findings = Diagnostics::default();
        let sample = Sample::decode(&node, &mut Reader::new(&source, Severity::Skip, &mut findings));
        (sample, findings.iter().cloned().collect())
    }

    #[test]
    fn all_problems_are_reported_at_once_with_their_places() {
        let (sample, found) = read("nmae: x\ncount: many\ntags: [a, 1]\n");
        assert_eq!(sample, None);
        let found: Vec<_> = found
            .iter()
            .map(|d| (d.code, d.field.as_deref().unwrap(), d.position().unwrap().line, d.severity))
            .collect();
        assert_eq!(
            found,
            [
                (Code::UnknownField, "nmae", 1, Severity::Skip),
                (Code::MissingField, "name", 1, Severity::Skip),
                (Code::WrongType, "count", 2, Severity::Skip),
                (Code::WrongType, "tags.1", 3, Severity::Skip),
            ]
        );
    }

    #[test]
    fn an_unknown_field_is_met_with_the_name_that_was_meant() {
        let cases = [
            ("nmae", Some("name")),
            ("Name", Some("name")),
            ("A2A", Some("a2a")),
            ("http-auth", Some("http_auth")),
            ("runtime", None),
            ("auth", None),
        ];
        let known = ["name", "a2a", "http_auth", "description"];
        for (found, expected) in cases {
            assert_eq!(suggestion(found, &known), expected, "{found}");
        }
    }

    #[test]
    fn null_is_the_same_as_leaving_an_optional_field_out() {
        let expected = Sample { name: "x".into(), count: None, tags: None };
        for text in ["name: x", "name: x\ncount: null\ntags:"] {
            assert_eq!(read(text), (Some(expected.clone()), Vec::new()), "{text}");
        }
    }
}
