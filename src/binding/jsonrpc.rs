//! JSON-RPC 2.0 as A2A uses it (specification section 9): one request a body, answered under the id it came with.

mod decode;
mod encode;
mod endpoint;
#[cfg(test)]
mod tests;

pub use decode::{Envelope, Rejection, RequestId, decode};
pub use encode::{encode_error, encode_result, http_status};
pub use endpoint::{answer, refuse};
