//! JSON as the Functions host reads it (comments and trailing commas allowed) to a tree of nodes.

use std::sync::Arc;

use jsonc_parser::ast::Value as Ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{Code, Diagnostic, Entry, Node, Severity, Source, Value};

/// Parses a whole source; an empty one is [`Value::Null`]. The parser bounds the depth; the file size bounds the rest.
///
/// # Errors
/// A diagnostic of the given severity when the text is not JSON. It quotes no text: these files hold secrets.
pub fn parse_json(source: &Arc<Source>, severity: Severity) -> Result<Node, Box<Diagnostic>> {
    let options = ParseOptions {
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
        allow_comments: true,
        allow_trailing_commas: true,
    };
    let parsed = parse_to_ast(&source.text, &CollectOptions::default(), &options).map_err(|error| {
        let range = error.range();
        Box::new(
            Diagnostic::new(severity, Code::SyntaxInvalid, "this is not valid JSON")
                .at(source, &(range.start..range.end))
                .help(format!("{}", error.kind()))
                .without_excerpt(),
        )
    })?;
    Ok(parsed.value.map_or(Node { value: Value::Null, span: 0..0 }, |ast| node(&ast)))
}

fn node(ast: &Ast<'_>) -> Node {
    let range = ast.range();
    let value = match ast {
        Ast::NullKeyword(_) => Value::Null,
        Ast::BooleanLit(literal) => Value::Bool(literal.value),
        Ast::NumberLit(literal) => number(literal.value),
        Ast::StringLit(literal) => Value::String(literal.value.clone().into_owned()),
        Ast::Array(array) => Value::List(array.elements.iter().map(node).collect()),
        Ast::Object(object) => Value::Map(
            object
                .properties
                .iter()
                .map(|property| Entry {
                    key: property.name.as_str().to_owned(),
                    key_span: property.name.start()..property.name.end(),
                    node: node(&property.value),
                })
                .collect(),
        ),
    };
    Node { value, span: range.start..range.end }
}

fn number(text: &str) -> Value {
    text.parse().map_or_else(|_| text.parse().map_or(Value::Null, Value::Float), Value::Integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_read_and_places_kept() {
        let source = Source::new("host.json", "{\n  // version\n  \"version\": \"2.0\",\n  \"n\": [1, 2.5,],\n}");
        let node = parse_json(&source, Severity::Error).unwrap();
        assert_eq!(node.get("version").and_then(Node::as_str), Some("2.0"));
        let list = node.get("n").unwrap();
        assert_eq!(source.position(list.span.start).line, 4);
        let Value::List(items) = &list.value else { panic!("not a list") };
        assert_eq!(items[0].value, Value::Integer(1));
        assert_eq!(items[1].value, Value::Float(2.5));
    }

    #[test]
    fn broken_json_is_placed_and_quotes_nothing() {
        let source = Source::new("local.settings.json", "{\n  \"Values\": { \"KEY\" \"s3cret\" }\n}");
        let problem = parse_json(&source, Severity::Error).unwrap_err();
        assert_eq!(problem.position().unwrap().line, 2);
        assert!(!super::super::render(&problem, false).contains("s3cret"));
    }

    #[test]
    fn depth_is_bounded() {
        let source = Source::new("f", &"[".repeat(100_000));
        assert!(parse_json(&source, Severity::Error).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "([a-cé0-9:/*\"\\\\{}\\[\\], \n.e-]|null|true){0,40}") {
            let source = Source::new("f.json", &text);
            match parse_json(&source, Severity::Error) {
                Ok(node) => proptest::prop_assert!(source.text.get(node.span).is_some()),
                Err(finding) => proptest::prop_assert!(!super::super::render(&finding, true).is_empty()),
            }
        }
    }
}
