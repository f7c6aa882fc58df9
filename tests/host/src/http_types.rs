//! The body and reply types that all parts of the host exchange.

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full, combinators::UnsyncBoxBody};

/// Any error of a body.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A body whose origin does not matter.
pub(crate) type Body = UnsyncBoxBody<Bytes, BoxError>;

/// An answer to the client.
pub(crate) type Reply = Response<Body>;

pub(crate) fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A reply without a body, which is how the host reports most failures.
pub(crate) fn bare(status: StatusCode) -> Reply {
    let mut reply = Response::new(empty());
    *reply.status_mut() = status;
    reply
}
