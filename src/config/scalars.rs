//! How single values are read: leniently where a `$VAR` can only give a string, strictly elsewhere.

use std::borrow::Cow;
use std::num::NonZeroU32;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{Code, Decode, Node, Reader, Spanned, Value};

impl Decode for String {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let text = node.as_str().map(ToOwned::to_owned);
        if text.is_none() {
            reader.wrong_type(node, "a string");
        }
        text
    }
}

/// `true` and `false`, and the words for them that YAML 1.1 and the Python runtime know, quoted or not, in any letter case.
impl Decode for bool {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let value = boolean(node);
        if value.is_none() {
            reader.wrong_type(node, "`true` or `false`");
        }
        value
    }
}

/// The boolean that a node means, if it means one.
fn boolean(node: &Node) -> Option<bool> {
    match &node.value {
        Value::Bool(value) => Some(*value),
        Value::Integer(0) => Some(false),
        Value::Integer(1) => Some(true),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "y" | "on" | "t" | "1" => Some(true),
            "false" | "no" | "n" | "off" | "f" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

impl Decode for f64 {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let value = match &node.value {
            // Lossless up to 2^53, far beyond any sensible setting.
            #[expect(clippy::cast_precision_loss, reason = "settings are small numbers")]
            Value::Integer(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        let finite = value.filter(|value| value.is_finite());
        if finite.is_none() {
            reader.wrong_type(node, "a number");
        }
        finite
    }
}

impl Decode for u32 {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let value = match &node.value {
            Value::Integer(value) => u32::try_from(*value).ok(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        if value.is_none() {
            reader.wrong_type(node, "a whole number");
        }
        value
    }
}

impl Decode for NonZeroU32 {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let value = Self::new(u32::decode(node, reader)?);
        if value.is_none() {
            reader.report(Code::OutOfRange, &node.span, "this number must be above zero", "write 1 or more");
        }
        value
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let Value::List(items) = &node.value else {
            reader.wrong_type(node, "a list");
            return None;
        };
        let read = |(index, item): (usize, &Node)| reader.inside(index.to_string(), |reader| T::decode(item, reader));
        // Collected in two steps so that a fault of one item does not hide those of the next.
        let values: Vec<_> = items.iter().enumerate().map(read).collect();
        values.into_iter().collect()
    }
}

/// A mapping whose content is free and is not read.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(transparent)]
pub struct FreeForm(#[schemars(with = "serde_json::Map<String, serde_json::Value>")] ());

impl Decode for FreeForm {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if node.entries().is_none() {
            reader.wrong_type(node, "a mapping");
            return None;
        }
        Some(Self(()))
    }
}

/// A text that is not blank, trimmed.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(transparent, inline)]
pub struct Text(#[schemars(regex(pattern = r"\S"))] pub String);

impl Decode for Text {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let text = String::decode(node, reader)?;
        let trimmed = text.trim();
        if trimmed.is_empty() {
            reader.report(
                Code::Blank,
                &node.span,
                "this text is blank",
                "write a text, or remove the field if it is optional",
            );
            return None;
        }
        Some(Self(trimmed.to_owned()))
    }
}

/// The schema of the value: where it was written is not part of it.
impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Diagnostics, Severity, Source, parse_yaml};

    fn read<T: Decode>(text: &str) -> Option<T> {
        let source = Source::new("f.yaml", text);
        let node = parse_yaml(&source, &(0..text.len()), Severity::Error).unwrap();
        let mut findings = Diagnostics::default();
        let value = T::decode(&node, &mut Reader::new(&source, Severity::Error, &mut findings));
        assert_eq!(value.is_none(), findings.iter().next().is_some(), "{text}: a refusal has a reason");
        value
    }

    #[test]
    fn c097_booleans_have_one_meaning_quoted_or_not() {
        let cases = [
            ("true", Some(true)),
            ("\"true\"", Some(true)),
            ("yes", Some(true)),
            ("On", Some(true)),
            ("1", Some(true)),
            ("no", Some(false)),
            ("'FALSE'", Some(false)),
            ("0", Some(false)),
            ("2", None),
            ("maybe", None),
            ("{}", None),
            ("null", None),
        ];
        for (text, expected) in cases {
            assert_eq!(read::<bool>(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_may_be_quoted_and_must_be_finite() {
        let cases = [
            ("60", Some(60.0)),
            ("\"60\"", Some(60.0)),
            ("1.5", Some(1.5)),
            (".inf", None),
            (".nan", None),
            ("true", None),
            ("$T", None),
        ];
        for (text, expected) in cases {
            assert_eq!(read::<f64>(text), expected, "{text}");
        }
        let whole = [("60", Some(60)), ("'7'", Some(7)), ("-1", None), ("1.5", None), ("true", None)];
        for (text, expected) in whole {
            assert_eq!(read::<u32>(text), expected, "{text}");
        }
    }

    #[test]
    fn strings_are_not_made_from_other_values() {
        assert_eq!(read::<String>("gpt-4o").as_deref(), Some("gpt-4o"));
        for text in ["4.1", "true", "[a]", "null"] {
            assert_eq!(read::<String>(text), None, "{text}");
        }
    }
}
