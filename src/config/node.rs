//! A parsed file as a tree of values that remember where they were written.

use super::Span;

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it was written.
    pub span: Span,
}

/// The kinds of values that YAML 1.2 (core schema) and JSON have.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing: `null`, `~` or an empty value.
    Null,
    /// `true` or `false`; `yes` and `no` are strings.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// A string.
    String(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order written, each key once.
    Map(Vec<Entry>),
}

/// A key of a mapping and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key was written.
    pub key_span: Span,
    /// The value.
    pub node: Node,
}

impl Node {
    /// The entries of a mapping.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of an exact key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let entry = self.entries()?.iter().find(|entry| entry.key == key)?;
        Some(&entry.node)
    }

    /// The value of a key of a mapping whatever the key's letter case, as the Functions host reads its JSON files.
    pub fn get_any_case(&self, key: &str) -> Option<&Node> {
        let mut entries = self.entries()?.iter();
        let entry = entries.find(|entry| entry.key.eq_ignore_ascii_case(key))?;
        Some(&entry.node)
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The kind of the value, for messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::String(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}
