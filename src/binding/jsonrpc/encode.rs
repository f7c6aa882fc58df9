//! From a result or an error to a reply.

use bytes::Bytes;
use http::StatusCode;
use serde::Serialize;

use super::RequestId;
use crate::protocol::error::{Details, ErrorKind, ServiceError};

/// What is sent should an error itself fail to be written.
const BARE_ERROR: &[u8] = br#"{"code":-32603,"message":"The server failed to handle the request."}"#;

/// A reply with a result, written in one go.
pub fn encode_result<T: Serialize>(id: RequestId<'_>, result: &T) -> Result<Bytes, ServiceError> {
    let mut body = open(id, "result", 512);
    serde_json::to_writer(&mut body, result).map_err(ServiceError::internal)?;
    body.push(b'}');
    Ok(body.into())
}

/// A reply with an error: its code, its public message and its details.
pub fn encode_error(id: RequestId<'_>, error: &ServiceError) -> Bytes {
    let object = ErrorObject { code: error.row().json_rpc, message: error.message(), data: error.details() };
    let object = serde_json::to_vec(&object);
    let object = object.as_deref().unwrap_or(BARE_ERROR);
    let mut body = open(id, "error", object.len());
    body.extend_from_slice(object);
    body.push(b'}');
    body.into()
}

/// The HTTP status of a reply. What became an envelope is answered with 200; the statuses below say that something other
/// than a method refused the request, in terms that proxies and browsers act on.
pub fn http_status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::ParseError
        | ErrorKind::PayloadTooLarge
        | ErrorKind::UnsupportedMediaType
        | ErrorKind::Unauthenticated
        | ErrorKind::Forbidden => kind.row().http,
        _ => StatusCode::OK,
    }
}

fn open(id: RequestId<'_>, member: &str, payload: usize) -> Vec<u8> {
    let mut body = Vec::with_capacity(payload + id.as_json().len() + 64);
    body.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    body.extend_from_slice(id.as_json().as_bytes());
    body.extend_from_slice(b",\"");
    body.extend_from_slice(member.as_bytes());
    body.extend_from_slice(b"\":");
    body
}

#[derive(Serialize)]
struct ErrorObject<'a> {
    code: i32,
    message: &'a str,
    data: Details<'a>,
}
