//! Reading what people wrote: files with positions, the environment, and diagnostics that say what to change.
//!
//! Nothing here knows what an agent is. A file becomes a [`Node`] tree in which each value remembers its place; `$VAR` is
//! replaced in the tree; [`Decode`] turns it into typed values and reports every problem on the way, not only the first.

mod code;
mod decode;
mod diagnostic;
mod environment;
mod host_json;
mod json;
mod local_settings;
mod node;
mod render;
mod scalars;
mod source;
mod substitute;
pub mod variables;
mod yaml;

pub use code::Code;
pub use decode::{Authored, Decode, Fields, Reader, Spanned};
pub(crate) use decode::{key, record};
pub use diagnostic::{Diagnostic, Diagnostics, Severity, Summary, printable};
pub use environment::{Environment, app_root};
pub use host_json::route_prefix;
pub use json::parse_json;
pub use local_settings::local_settings;
pub use node::{Entry, Node, Value};
pub use render::{render, render_all, to_json};
pub use scalars::{FreeForm, Text};
pub use source::{MAX_FILE_BYTES, Position, Source, Span, read_regular};
pub use substitute::{Substituted, TooLarge, TooLargeAt, Unresolved, substitute, substitute_body, substitute_node};
pub use yaml::parse_yaml;
