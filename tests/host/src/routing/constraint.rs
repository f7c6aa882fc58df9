//! Inline route constraints such as `{id:int}`. `regex(..)` is not offered.

use uuid::Uuid;

/// A test on the text of one route value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Constraint {
    Int,
    Long,
    Bool,
    Guid,
    Alpha,
    Length { minimum: usize, maximum: usize },
    Range { minimum: i64, maximum: i64 },
}

impl Constraint {
    /// Reads a constraint; `None` when it is not known.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (name, arguments) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            Some((name, arguments)) => (name, arguments.split(',').map(str::trim).collect()),
            None => (text, Vec::new()),
        };
        match (name.to_ascii_lowercase().as_str(), arguments.as_slice()) {
            ("int", []) => Some(Self::Int),
            ("long", []) => Some(Self::Long),
            ("bool", []) => Some(Self::Bool),
            ("guid", []) => Some(Self::Guid),
            ("alpha", []) => Some(Self::Alpha),
            ("required", []) => Some(Self::Length { minimum: 1, maximum: usize::MAX }),
            ("length", [exact]) => exact.parse().ok().map(|exact| Self::Length { minimum: exact, maximum: exact }),
            ("length", [minimum, maximum]) => {
                Some(Self::Length { minimum: minimum.parse().ok()?, maximum: maximum.parse().ok()? })
            }
            ("minlength", [minimum]) => Some(Self::Length { minimum: minimum.parse().ok()?, maximum: usize::MAX }),
            ("maxlength", [maximum]) => Some(Self::Length { minimum: 0, maximum: maximum.parse().ok()? }),
            ("min", [minimum]) => Some(Self::Range { minimum: minimum.parse().ok()?, maximum: i64::MAX }),
            ("max", [maximum]) => Some(Self::Range { minimum: i64::MIN, maximum: maximum.parse().ok()? }),
            ("range", [minimum, maximum]) => {
                Some(Self::Range { minimum: minimum.parse().ok()?, maximum: maximum.parse().ok()? })
            }
            _ => None,
        }
    }

    pub(super) fn allows(self, text: &str) -> bool {
        match self {
            Self::Int => text.parse::<i32>().is_ok(),
            Self::Long => text.parse::<i64>().is_ok(),
            Self::Bool => text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false"),
            Self::Guid => Uuid::try_parse(text).is_ok(),
            Self::Alpha => text.chars().all(|character| character.is_ascii_alphabetic()),
            Self::Length { minimum, maximum } => (minimum..=maximum).contains(&text.chars().count()),
            Self::Range { minimum, maximum } => {
                text.parse().is_ok_and(|value: i64| (minimum..=maximum).contains(&value))
            }
        }
    }
}
