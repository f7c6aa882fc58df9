//! Entity group transactions on the wire: the `$batch` body and its answer ("Performing entity group transactions").

use std::fmt::Write as _;

use super::request::EntityRequest;

/// Boundaries that no content can hold: every body is JSON on one line of its own, which starts with a brace.
const BATCH: &str = "batch_records";
const CHANGES: &str = "changeset_records";

/// The answer to one step of a batch, or to all of them when it failed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) status: u16,
    pub(super) etag: Option<String>,
    pub(super) body: String,
}

pub(super) fn content_type() -> String {
    format!("multipart/mixed; boundary={BATCH}")
}

/// All of `requests` as one change set. `table` is the table's absolute address.
pub(super) fn encode(table: &str, requests: &[EntityRequest]) -> String {
    let mut body = format!("--{BATCH}\r\nContent-Type: multipart/mixed; boundary={CHANGES}\r\n\r\n");
    for request in requests {
        body.push_str("--");
        body.push_str(CHANGES);
        body.push_str("\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n");
        let _infallible = write!(body, "{} {table}{} HTTP/1.1\r\n", request.method, request.target);
        for (name, value) in request.headers() {
            let _infallible = write!(body, "{}: {}\r\n", name.as_str(), value.as_str());
        }
        body.push_str("\r\n");
        body.push_str(&request.body);
        body.push_str("\r\n");
    }
    let _infallible = write!(body, "--{CHANGES}--\r\n--{BATCH}--\r\n");
    body
}

/// The HTTP answers inside a batch answer, in order. Reads status lines, `ETag` and JSON bodies and skips the framing
/// between them, which differs between the service and its emulator.
pub(super) fn decode(answer: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for line in answer.lines() {
        if let Some(status) = line.strip_prefix("HTTP/1.1 ") {
            let status = status.split(' ').next().and_then(|code| code.parse().ok()).unwrap_or(0);
            parts.push(Part { status, etag: None, body: String::new() });
        } else if let Some(part) = parts.last_mut() {
            match line.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("etag") => part.etag = Some(value.trim().to_owned()),
                _ if line.starts_with('{') => line.clone_into(&mut part.body),
                _ => {}
            }
        }
    }
    parts
}
