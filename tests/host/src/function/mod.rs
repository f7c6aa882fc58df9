//! Functions and their bindings, as function.json describes them.

mod load;
mod parse;

use std::{collections::BTreeSet, time::Duration};

use http::Method;

pub(crate) use self::load::{FunctionSet, load};
use crate::routing::TemplateError;

/// Who may call an HTTP function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthLevel {
    Anonymous,
    User,
    Function,
    System,
    Admin,
}

impl AuthLevel {
    pub(crate) const EXPECTED: &str = "anonymous, user, function, system or admin";

    /// Reads a level in any case.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "anonymous" => Some(Self::Anonymous),
            "user" => Some(Self::User),
            "function" => Some(Self::Function),
            "system" => Some(Self::System),
            "admin" => Some(Self::Admin),
            _ => None,
        }
    }
}

/// What makes a function run.
#[derive(Clone, Debug)]
pub(crate) enum Trigger {
    Http(HttpTrigger),
    Timer {
        use_monitor: bool,
    },
    Queue {
        queue: String,
    },
    /// Any other trigger: loaded and listed, but nothing here fires it.
    Other,
}

/// An `httpTrigger` binding.
#[derive(Clone, Debug)]
pub(crate) struct HttpTrigger {
    /// Template without the prefix and without slashes at either end; the function's name when none was given.
    pub(crate) route: String,
    /// `None` means all methods.
    pub(crate) methods: Option<BTreeSet<String>>,
    pub(crate) level: AuthLevel,
}

impl HttpTrigger {
    pub(crate) fn accepts(&self, method: &Method) -> bool {
        self.methods.as_ref().is_none_or(|methods| methods.contains(&method.as_str().to_ascii_uppercase()))
    }

    /// Whether a request could match both.
    fn overlaps(&self, other: &Self) -> bool {
        let shared = match (&self.methods, &other.methods) {
            (Some(one), Some(two)) => !one.is_disjoint(two),
            _ => true,
        };
        shared && self.route.eq_ignore_ascii_case(&other.route)
    }
}

/// An output or an additional input.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub(crate) name: String,
    pub(crate) kind: String,
    /// `dataType: binary`, which switches off the decoding of text that looks like base64.
    pub(crate) binary: bool,
}

/// How a failed run is repeated (`retry` in function.json).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RetryPolicy {
    /// Repeats after the first run; `None` means without end.
    pub(crate) max_retries: Option<u32>,
    pub(crate) backoff: Backoff,
}

/// The pause before a repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Backoff {
    Fixed(Duration),
    Exponential { minimum: Duration, maximum: Duration },
}

impl RetryPolicy {
    /// The pause before repeat number `repeat` (0-based), or `None` when there is none left.
    pub(crate) fn pause(&self, repeat: u32) -> Option<Duration> {
        if self.max_retries.is_some_and(|limit| repeat >= limit) {
            return None;
        }
        Some(match self.backoff {
            Backoff::Fixed(pause) => pause,
            Backoff::Exponential { minimum, maximum } => {
                minimum.saturating_mul(2_u32.saturating_pow(repeat)).min(maximum)
            }
        })
    }
}

/// One function that can run.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) trigger_name: String,
    pub(crate) trigger: Trigger,
    pub(crate) inputs: Vec<Binding>,
    pub(crate) outputs: Vec<Binding>,
    pub(crate) disabled: bool,
    pub(crate) retry: Option<RetryPolicy>,
}

impl Function {
    pub(crate) fn http(&self) -> Option<&HttpTrigger> {
        match &self.trigger {
            Trigger::Http(http) => Some(http),
            _ => None,
        }
    }

    /// Exactly an HTTP trigger in and an HTTP reply out: only such a function is forwarded or proxied.
    pub(crate) fn is_http_in_and_out(&self) -> bool {
        self.http().is_some()
            && self.inputs.is_empty()
            && matches!(self.outputs.as_slice(), [only] if only.kind.eq_ignore_ascii_case("http"))
    }
}

/// A function that cannot be loaded; the other functions still run.
#[derive(Debug, thiserror::Error)]
#[error("function {function} is not loaded: {reason}")]
pub struct FunctionError {
    /// The function's name, usually its folder.
    pub function: String,
    /// Why.
    pub reason: FunctionErrorReason,
}

/// Why a function cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum FunctionErrorReason {
    /// The name breaks the rules for function names.
    #[error("a name is a letter, then up to 127 letters, digits, '_' or '-', and not \"host\"")]
    InvalidName,
    /// Another folder has the same name in another case.
    #[error("the name differs only by case from function {0}")]
    DuplicateName(String),
    /// function.json cannot be read or parsed.
    #[error(transparent)]
    Unreadable(#[from] crate::config::ConfigError),
    /// function.json has no `bindings`.
    #[error("function.json declares no bindings")]
    NoBindings,
    /// There must be exactly one trigger.
    #[error("exactly one trigger binding is needed, found {0}")]
    TriggerCount(usize),
    /// A binding or a retry policy holds something unusable.
    #[error("{key} is {value}, expected {expected}")]
    InvalidValue {
        /// The property.
        key: &'static str,
        /// What was given.
        value: String,
        /// What would have been accepted.
        expected: &'static str,
    },
    /// The route starts with a word that the host keeps for itself.
    #[error("the route {0:?} lies in a space reserved for the host (admin, runtime)")]
    ReservedRoute(String),
    /// Two functions claim one route and a common method.
    #[error("the route {route:?} conflicts with function {other}")]
    RouteConflict {
        /// The route.
        route: String,
        /// The function that came first.
        other: String,
    },
    /// An entry of `http.routes` has no route.
    #[error("the route is blank")]
    BlankRoute,
    /// The route template is malformed.
    #[error(transparent)]
    Template(#[from] TemplateError),
}
