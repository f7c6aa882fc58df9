//! Fields that are all, nothing, or all but some.

use schemars::JsonSchema;

use crate::config::{Decode, Node, Reader, Spanned, Value, record};

/// All of a kind, none, or all but some.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(untagged)]
pub(crate) enum Selection {
    /// All or none.
    Switch(bool),
    /// All but some.
    Except(Exclusion),
}

record! {
    /// Names that are left out.
    pub(crate) struct Exclusion {
        /// The names.
        pub exclude: Option<Vec<Spanned<String>>>,
    }
}

impl Selection {
    /// Whether a name is left out.
    pub(crate) fn leaves_out(&self, name: &str) -> bool {
        match self {
            Self::Switch(on) => !on,
            Self::Except(_) => self.excluded().iter().any(|excluded| excluded.value == name),
        }
    }

    /// The names that are left out one by one.
    pub(crate) fn excluded(&self) -> &[Spanned<String>] {
        match self {
            Self::Switch(_) => &[],
            Self::Except(exclusion) => exclusion.exclude.as_deref().unwrap_or_default(),
        }
    }
}

impl Decode for Selection {
    fn decode(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match node.value {
            Value::Map(_) => Exclusion::decode(node, reader).map(Self::Except),
            _ => bool::decode(node, reader).map(Self::Switch),
        }
    }
}

/// A switch that is on unless it clearly says off: existing folders may hold anything here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[schemars(transparent, inline)]
pub(crate) struct Lenient(pub bool);

impl Lenient {
    /// What a node that may be missing says.
    pub(crate) fn of(node: Option<&Node>) -> Self {
        let off = match node.map(|node| &node.value) {
            Some(Value::Bool(on)) => !on,
            Some(Value::String(text)) => {
                matches!(text.trim().to_ascii_lowercase().as_str(), "false" | "0" | "no" | "n")
            }
            _ => false,
        };
        Self(!off)
    }
}

impl Decode for Lenient {
    fn decode(node: &Node, _: &mut Reader<'_>) -> Option<Self> {
        Some(Self::of(Some(node)))
    }
}
