//! YAML 1.2 to a tree of nodes, bounded in depth and in size after aliases.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use saphyr::{Scalar, ScalarStyle, Tag};
use saphyr_parser::{Event, Marker, Parser, ScanError, Span as YamlSpan, StrInput};

use super::{Code, Diagnostic, Entry, Node, Severity, Source, Span, Value};

/// How deep values may nest.
const MAX_DEPTH: usize = 32;
/// How many values a file may hold, each use of an alias counted as what it stands for.
const MAX_NODES: usize = 20_000;

/// How many bytes of text aliases may repeat.
const MAX_REPEATED: usize = 1024 * 1024;

/// Parses the part `span` of a source; an empty part is [`Value::Null`].
///
/// # Errors
/// A diagnostic of the given severity for text that is not YAML, for a repeated key, for more than one document, for a
/// value nested deeper than 32 levels, for more than 20,000 values, those that aliases repeat included, and for more than
/// 1 MiB of text that aliases repeat.
pub fn parse_yaml(source: &Arc<Source>, span: &Span, severity: Severity) -> Result<Node, Box<Diagnostic>> {
    let text = &source.text[span.clone()];
    let offsets = Offsets::new(text, span.start);
    let mut builder = Builder {
        parser: Parser::new_from_str(text),
        offsets: &offsets,
        anchors: HashMap::new(),
        left: MAX_NODES,
        left_to_repeat: MAX_REPEATED,
    };
    builder.document().map_err(|fault| {
        Box::new(Diagnostic::new(severity, Code::SyntaxInvalid, fault.message).at(source, &fault.span).help(fault.help))
    })
}

struct Fault {
    span: Span,
    message: String,
    help: &'static str,
}

/// Byte offsets of characters: the parser counts in characters.
struct Offsets {
    start: usize,
    length: usize,
    by_character: Option<Vec<usize>>,
}

impl Offsets {
    fn new(text: &str, start: usize) -> Self {
        let by_character = (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).collect());
        Self { start, length: text.len(), by_character }
    }

    fn byte(&self, marker: Marker) -> usize {
        let index = marker.index();
        let offset = match &self.by_character {
            Some(offsets) => offsets.get(index).copied().unwrap_or(self.length),
            None => index.min(self.length),
        };
        self.start + offset
    }

    fn span(&self, span: YamlSpan) -> Span {
        let start = self.byte(span.start);
        start..self.byte(span.end).max(start)
    }
}

struct Builder<'a> {
    parser: Parser<'a, StrInput<'a>>,
    offsets: &'a Offsets,
    anchors: HashMap<usize, Node>,
    left: usize,
    left_to_repeat: usize,
}

impl<'a> Builder<'a> {
    fn document(&mut self) -> Result<Node, Fault> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => break,
                Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
                _ if root.is_some() => {
                    return Err(Fault {
                        span: self.offsets.span(span),
                        message: "a second YAML document starts here".to_owned(),
                        help: "keep one document in the file",
                    });
                }
                event => root = Some(self.node(event, span, 0)?),
            }
        }
        Ok(root.unwrap_or(Node { value: Value::Null, span: self.offsets.start..self.offsets.start }))
    }

    fn next(&mut self) -> Result<(Event<'a>, YamlSpan), Fault> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(self.not_yaml(&error)),
            None => Ok((Event::StreamEnd, YamlSpan::default())),
        }
    }

    fn not_yaml(&self, error: &ScanError) -> Fault {
        let at = self.offsets.byte(*error.marker());
        Fault {
            span: at..at,
            message: format!("this is not valid YAML: {}", error.info()),
            help: "check indentation and quotes; a text that contains `: ` or starts with a special character needs quotes",
        }
    }

    fn node(&mut self, event: Event<'a>, span: YamlSpan, depth: usize) -> Result<Node, Fault> {
        let place = self.offsets.span(span);
        self.spend(1, &place)?;
        if depth > MAX_DEPTH {
            return Err(Fault {
                span: place,
                message: format!("values nest deeper than {MAX_DEPTH} levels"),
                help: "flatten the structure",
            });
        }
        let (value, anchor) = match event {
            Event::Alias(anchor) => return self.alias(anchor, place),
            Event::Scalar(text, style, anchor, tag) => (scalar(text, style, tag.as_ref(), &place)?, anchor),
            Event::SequenceStart(anchor, _) => (Value::List(self.list(depth)?), anchor),
            Event::MappingStart(anchor, _) => (Value::Map(self.map(depth)?), anchor),
            _ => (Value::Null, 0),
        };
        let end = end_of(&value).unwrap_or(place.end).max(place.end);
        let node = Node { value, span: place.start..end };
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, Fault> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd | Event::StreamEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Entry>, Fault> {
        let mut entries = Vec::new();
        let mut seen = HashSet::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                return Ok(entries);
            }
            let key_span = self.offsets.span(span);
            let Event::Scalar(key, ..) = event else {
                return Err(Fault {
                    span: key_span,
                    message: "a key must be a plain word or a string".to_owned(),
                    help: "write `key: value`",
                });
            };
            if !seen.insert(key.clone()) {
                return Err(Fault {
                    span: key_span,
                    message: format!("the key `{key}` is written twice"),
                    help: "keep one of them",
                });
            }
            let (event, span) = self.next()?;
            entries.push(Entry { node: self.node(event, span, depth + 1)?, key: key.into_owned(), key_span });
        }
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<Node, Fault> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err(Fault {
                span,
                message: "an alias refers to a value that contains it".to_owned(),
                help: "write the value out",
            });
        };
        let (nodes, bytes) = size_of_tree(anchored);
        self.left_to_repeat = self.left_to_repeat.checked_sub(bytes).ok_or_else(|| Fault {
            span: span.clone(),
            message: format!("aliases repeat more than {} KiB of text", MAX_REPEATED / 1024),
            help: "use fewer aliases, or shorten what they stand for",
        })?;
        let node = Node { value: anchored.value.clone(), span: span.clone() };
        self.spend(nodes, &span)?;
        Ok(node)
    }

    fn spend(&mut self, nodes: usize, span: &Span) -> Result<(), Fault> {
        self.left = self.left.checked_sub(nodes).ok_or_else(|| Fault {
            span: span.clone(),
            message: format!("this file holds more than {MAX_NODES} values, those that aliases repeat included"),
            help: "shorten it, and use fewer aliases",
        })?;
        Ok(())
    }
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Cow<'_, Tag>>, span: &Span) -> Result<Value, Fault> {
    match Scalar::parse_from_cow_and_metadata(text, style, tag) {
        Some(Scalar::Null) => Ok(Value::Null),
        Some(Scalar::Boolean(value)) => Ok(Value::Bool(value)),
        Some(Scalar::Integer(value)) => Ok(Value::Integer(value)),
        Some(Scalar::FloatingPoint(value)) => Ok(Value::Float(value.into_inner())),
        Some(Scalar::String(value)) => Ok(Value::String(value.into_owned())),
        None => Err(Fault {
            span: span.clone(),
            message: "the tag does not fit the value".to_owned(),
            help: "drop the tag (`!!…`)",
        }),
    }
}

/// Where the last value inside a collection ends: the parser reports only where a collection starts.
fn end_of(value: &Value) -> Option<usize> {
    match value {
        Value::List(items) => items.last().map(|item| item.span.end),
        Value::Map(entries) => entries.last().map(|entry| entry.node.span.end),
        _ => None,
    }
}

/// How many values a tree has, and how many bytes of text.
fn size_of_tree(node: &Node) -> (usize, usize) {
    let sum = |(nodes, bytes): (usize, usize), (more_nodes, more_bytes)| (nodes + more_nodes, bytes + more_bytes);
    match &node.value {
        Value::List(items) => items.iter().map(size_of_tree).fold((1, 0), sum),
        Value::Map(entries) => entries
            .iter()
            .map(|entry| {
                let (nodes, bytes) = size_of_tree(&entry.node);
                (nodes, bytes + entry.key.len())
            })
            .fold((1, 0), sum),
        Value::String(text) => (1, text.len()),
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) => (1, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Node, Box<Diagnostic>> {
        let source = Source::new("f.yaml", text);
        let span = 0..source.text.len();
        parse_yaml(&source, &span, Severity::Error)
    }

    fn value(text: &str) -> Value {
        parse(text).unwrap().value
    }

    #[test]
    fn scalars_follow_the_core_schema_of_yaml_1_2() {
        let cases = [
            ("true", Value::Bool(true)),
            ("False", Value::Bool(false)),
            ("yes", Value::String("yes".into())),
            ("on", Value::String("on".into())),
            ("\"true\"", Value::String("true".into())),
            ("~", Value::Null),
            ("", Value::Null),
            ("12", Value::Integer(12)),
            ("1.5", Value::Float(1.5)),
            ("'12'", Value::String("12".into())),
            ("2026-12-01", Value::String("2026-12-01".into())),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), expected, "{text:?}");
        }
    }

    #[test]
    fn places_are_byte_ranges_of_the_whole_source() {
        let source = Source::new("f", "---\nnäme: é\nlist:\n  - a\n  - bc\n---\nbody");
        let node = parse_yaml(&source, &(4..source.text.find("---\nbody").unwrap()), Severity::Error).unwrap();
        let entries = node.entries().unwrap();
        assert_eq!(&source.text[entries[0].key_span.clone()], "näme");
        assert_eq!(&source.text[entries[0].node.span.clone()], "é");
        assert_eq!(&source.text[entries[1].node.span.clone()], "- a\n  - bc");
    }

    #[test]
    fn aliases_work_and_are_bounded() {
        let node = parse("a: &x 1\nb: *x").unwrap();
        assert_eq!(node.get("b").unwrap().value, Value::Integer(1));
        let level = |(level, item): (usize, String)| format!("a{level}: &a{level} [{}]", vec![item; 10].join(","));
        let items = std::iter::once("x".to_owned()).chain((0..8).map(|below| format!("*a{below}")));
        let bomb = items.enumerate().map(level).collect::<Vec<_>>().join("\n");
        let problem = parse(&bomb).unwrap_err();
        assert!(problem.message.contains("20000 values"), "{}", problem.message);
        let long = format!("a: &x {}\nb: [{}]", "y".repeat(100_000), vec!["*x"; 100].join(","));
        let problem = parse(&long).unwrap_err();
        assert!(problem.message.contains("1024 KiB"), "{}", problem.message);
    }

    #[test]
    fn depth_is_bounded() {
        assert!(parse(&"- ".repeat(30)).is_ok());
        let problem = parse(&"- ".repeat(40)).unwrap_err();
        assert!(problem.message.contains("deeper than 32"), "{}", problem.message);
        for deep in ["- ", "[", "{a: ", "? "] {
            assert!(parse(&deep.repeat(100_000)).is_err(), "{deep}");
        }
    }

    #[test]
    fn faults_name_line_and_column() {
        let cases = [
            ("a: 1\nb: [", "not valid YAML", 2),
            ("a: 1\na: 2", "written twice", 2),
            ("a: 1\n---\nb: 2", "second YAML document", 3),
            ("? [a]\n: 1", "a key must be", 1),
            ("a: !!int x", "tag does not fit", 1),
        ];
        for (text, message, line) in cases {
            let problem = parse(text).unwrap_err();
            assert_eq!(problem.code, Code::SyntaxInvalid);
            assert!(problem.message.contains(message), "{text:?}: {}", problem.message);
            assert_eq!(problem.position().unwrap().line, line, "{text:?}");
        }
    }

    proptest::proptest! {
        /// Neither the parser nor a report on what it refused panics, and every place is one of the text.
        #[test]
        fn any_text_is_read_or_refused(text in "([a-c:é#&*!|>'\"%@`{}\\[\\],? \t\n\u{feff}\u{0}\u{1b}-]|: |- |\n  ){0,60}") {
            match parse(&text) {
                Ok(node) => {
                    let source = Source::new("f.yaml", &text);
                    proptest::prop_assert!(source.text.get(node.span).is_some());
                }
                Err(finding) => proptest::prop_assert!(!super::super::render(&finding, true).is_empty()),
            }
        }
    }
}
