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

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::store::azure_table::rows::Version;
    use crate::store::{PartitionKey, RowKey, Write};

    const TABLE: &str = "https://acc.table.core.windows.net/t";

    #[test]
    fn a_batch_has_the_framing_of_an_entity_group_transaction() {
        let partition = PartitionKey::new("p").unwrap();
        let row = RowKey::new("r2").unwrap();
        let write = Write { row: RowKey::new("r1").unwrap(), value: Bytes::from_static(b"v"), expires: None };
        let version = Version::new(9, "W/\"tag\"".to_owned());
        let requests =
            [EntityRequest::insert(&partition, &write, "m"), EntityRequest::delete(&partition, &row, &version)];
        let body = encode(TABLE, &requests);
        let mut parts = body.split("--changeset_records");
        assert_eq!(
            parts.next(),
            Some("--batch_records\r\nContent-Type: multipart/mixed; boundary=changeset_records\r\n\r\n")
        );
        let insert = parts.next().unwrap();
        assert!(insert.contains("\r\n\r\nPOST https://acc.table.core.windows.net/t HTTP/1.1\r\n"), "{insert}");
        let (head, entity) = insert.trim_end().rsplit_once("\r\n").unwrap();
        assert!(head.ends_with("\r\n") && !head.contains("if-match"), "{head}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(entity).unwrap()["RowKey"], "r1");
        let delete = parts.next().unwrap();
        assert!(
            delete.contains("DELETE https://acc.table.core.windows.net/t(PartitionKey='p',RowKey='r2') HTTP/1.1\r\n")
        );
        assert!(delete.contains("\r\nif-match: W/\"tag\"\r\n"), "{delete}");
        assert_eq!(parts.next(), Some("--\r\n--batch_records--\r\n"));
    }

    /// As the service frames it ("Performing entity group transactions", sample response).
    #[test]
    fn the_answers_to_a_batch_come_in_its_order() {
        let answer = "--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_2\r\n\r\n\
            --changesetresponse_2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
            HTTP/1.1 204 No Content\r\nETag: W/\"datetime'2013-09-30T18%3A02%3A27.2397385Z'\"\r\n\r\n\r\n\
            --changesetresponse_2\r\nContent-Type: application/http\r\n\r\n\
            HTTP/1.1 204 No Content\r\nX-Content-Type-Options: nosniff\r\n\r\n\r\n\
            --changesetresponse_2--\r\n--batchresponse_1--\r\n";
        let etag = Some("W/\"datetime'2013-09-30T18%3A02%3A27.2397385Z'\"".to_owned());
        assert_eq!(
            decode(answer),
            [Part { status: 204, etag, body: String::new() }, Part { status: 204, etag: None, body: String::new() }]
        );
    }

    #[test]
    fn a_failed_batch_is_one_answer_with_its_error() {
        let answer = "--b\r\n\r\n--c\r\n\r\nHTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\n\r\n\
            {\"odata.error\":{}}\r\n--c--\r\n--b--";
        assert_eq!(decode(answer), [Part { status: 409, etag: None, body: "{\"odata.error\":{}}".to_owned() }]);
    }

    #[test]
    fn nonsense_has_no_answers_or_failed_ones() {
        assert_eq!(decode("not a batch"), []);
        assert_eq!(decode("HTTP/1.1 what").first().map(|part| part.status), Some(0));
    }
}
