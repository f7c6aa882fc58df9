//! The wire formats: from bytes to a typed request, from a reply or an error back to bytes.

pub mod card;
pub mod jsonrpc;
pub mod methods;
