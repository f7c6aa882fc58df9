//! The wire formats: from bytes to a typed request, from a reply or an error back to bytes.

pub mod card;
pub mod jsonrpc;
pub mod methods;

/// What became of a request, for the request log; rides on the response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The operation, empty when none was reached.
    pub method: &'static str,
    /// `success`, `replayed`, or the reason of the error.
    pub name: &'static str,
    /// JSON-RPC error code, 0 without one.
    pub code: i32,
    /// The server is to blame for the error.
    pub fault: bool,
    /// What is behind the error, for the log alone.
    pub cause: Option<String>,
}
