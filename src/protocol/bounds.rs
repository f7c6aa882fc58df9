//! One pass over a body that proves it is JSON within bounds, before anything is built from it.
//!
//! The pass keeps nothing but the member names of the objects that are open, so its memory is bounded by the body. What
//! has passed is UTF-8, complete, without lone surrogates, and every number fits a double: later steps may borrow from it
//! and skip over parts of it without checking them again.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// Deepest nesting of arrays and objects.
pub const MAX_DEPTH: usize = 64;
/// Most object members and array elements in the whole body. Elements count too, because each costs as much memory.
pub const MAX_MEMBERS: usize = 4096;

/// JSON text within bounds. Only [`check`] makes one.
#[derive(Debug, Clone, Copy)]
pub struct BoundedJson<'a>(&'a str);

impl<'a> BoundedJson<'a> {
    /// The text, without a byte order mark.
    pub fn as_str(self) -> &'a str {
        self.0
    }
}

/// Why a body is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BoundsError {
    /// There is no body.
    #[error("the body is empty")]
    Empty,
    /// The bytes are not UTF-8.
    #[error("the body is not UTF-8 (byte {0})")]
    NotUtf8(usize),
    /// The text is not JSON: RFC 8259, with numbers that fit a double and strings of whole characters.
    #[error("the body is not JSON (line {line}, column {column})")]
    NotJson {
        /// Counted from 1.
        line: usize,
        /// Counted in bytes, from 1.
        column: usize,
    },
    /// Arrays and objects are nested too deeply.
    #[error("the body nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// There are too many members and elements.
    #[error("the body has more than {MAX_MEMBERS} members and elements")]
    TooManyMembers,
    /// An object has two members of one name, of which readers disagree which one counts.
    #[error("an object in the body names a member twice")]
    DuplicateMember,
}

/// Checks that `body` is one JSON value within [`MAX_DEPTH`] and [`MAX_MEMBERS`] and without repeated member names.
///
/// A UTF-8 byte order mark is skipped, as RFC 8259 section 8.1 permits: some clients write one unasked.
pub fn check(body: &[u8]) -> Result<BoundedJson<'_>, BoundsError> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    if body.is_empty() {
        return Err(BoundsError::Empty);
    }
    let text = std::str::from_utf8(body).map_err(|error| BoundsError::NotUtf8(error.valid_up_to()))?;
    let mut scan = Scan { depth: 0, members: 0, open_names: Vec::new(), fault: None };
    let mut json = serde_json::Deserializer::from_str(text);
    let outcome = Value(&mut scan).deserialize(&mut json).and_then(|()| json.end());
    match (outcome, scan.fault) {
        (Ok(()), _) => Ok(BoundedJson(text)),
        (Err(_), Some(fault)) => Err(fault),
        (Err(error), None) => Err(BoundsError::NotJson { line: error.line(), column: error.column() }),
    }
}

/// What the pass remembers.
struct Scan<'de> {
    depth: usize,
    members: usize,
    /// Names of all objects that are open, the innermost one's last.
    open_names: Vec<Cow<'de, str>>,
    /// The bound that was broken; `serde_json` errors carry only text.
    fault: Option<BoundsError>,
}

impl Scan<'_> {
    fn fail<E: serde::de::Error>(&mut self, fault: BoundsError) -> E {
        self.fault = Some(fault);
        E::custom(fault)
    }

    fn enter<E: serde::de::Error>(&mut self) -> Result<(), E> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(self.fail(BoundsError::TooDeep)) } else { Ok(()) }
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    fn count<E: serde::de::Error>(&mut self) -> Result<(), E> {
        self.members += 1;
        if self.members > MAX_MEMBERS { Err(self.fail(BoundsError::TooManyMembers)) } else { Ok(()) }
    }

    /// Checks and forgets the names of an object, which are those after `first`.
    fn close_object<E: serde::de::Error>(&mut self, first: usize) -> Result<(), E> {
        let names = &mut self.open_names[first..];
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(self.fail(BoundsError::DuplicateMember));
        }
        self.open_names.truncate(first);
        Ok(())
    }
}

/// Reads any value and drops it.
struct Value<'s, 'de>(&'s mut Scan<'de>);

impl<'de> DeserializeSeed<'de> for Value<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        // Not `deserialize_ignored_any`, which would let broken escapes and numbers pass.
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, 'de> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        self.0.enter()?;
        while elements.next_element_seed(Value(self.0))?.is_some() {
            self.0.count()?;
        }
        self.0.leave();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let scan = self.0;
        scan.enter()?;
        let first = scan.open_names.len();
        while let Some(name) = members.next_key_seed(Name)? {
            scan.count()?;
            scan.open_names.push(name);
            members.next_value_seed(Value(scan))?;
        }
        scan.close_object(first)?;
        scan.leave();
        Ok(())
    }
}

/// Reads a member name, borrowing it when it holds no escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a member name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}
