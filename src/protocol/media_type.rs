//! Which media types a request may come in.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

use super::error::{ErrorKind, ServiceError};

/// Media type of JSON-RPC, and of HTTP+JSON for clients that do not know better.
pub const APPLICATION_JSON: &str = "application/json";
/// Media type that A2A registers for HTTP+JSON (specification section 14.1).
pub const APPLICATION_A2A_JSON: &str = "application/a2a+json";

/// How a body says it is JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonMediaType {
    /// `application/json`.
    Json,
    /// `application/a2a+json`.
    A2aJson,
}

/// Refuses a request unless its `Content-Type` is JSON, in any case and with any parameters.
///
/// A missing type is refused like a foreign one: a web page of another origin can post without one, and what it cannot do
/// is post JSON without asking first (Fetch, "CORS-safelisted request-header").
pub fn require_json(headers: &HeaderMap) -> Result<JsonMediaType, ServiceError> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let essence = match (types.next(), types.next()) {
        (Some(only), None) => only.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim(),
        _ => "",
    };
    if essence.eq_ignore_ascii_case(APPLICATION_JSON) {
        Ok(JsonMediaType::Json)
    } else if essence.eq_ignore_ascii_case(APPLICATION_A2A_JSON) {
        Ok(JsonMediaType::A2aJson)
    } else {
        Err(ServiceError::new(
            ErrorKind::UnsupportedMediaType,
            "The request needs one Content-Type header: application/json or application/a2a+json.",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Result<JsonMediaType, ErrorKind> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(CONTENT_TYPE, value.parse().unwrap());
        }
        require_json(&headers).map_err(|error| error.kind())
    }

    #[test]
    fn c128_json_is_accepted_in_any_case_and_with_any_parameters() {
        for (value, expected) in [
            ("application/json", JsonMediaType::Json),
            ("application/json; charset=utf-8", JsonMediaType::Json),
            ("APPLICATION/JSON", JsonMediaType::Json),
            ("application/json ;charset=\"utf-8\"; a=b", JsonMediaType::Json),
            ("application/a2a+json", JsonMediaType::A2aJson),
            ("Application/A2A+JSON;v=1", JsonMediaType::A2aJson),
        ] {
            assert_eq!(of(&[value]), Ok(expected), "{value}");
        }
    }

    #[test]
    fn c128_other_types_and_none_are_refused() {
        for values in [
            &["text/plain"][..],
            &["application/x-www-form-urlencoded"],
            &["text/plain; application/json"],
            &["application/jsonp"],
            &["application/json, text/plain"],
            &["application/json", "text/plain"],
            &[""],
            &[],
        ] {
            assert_eq!(of(values), Err(ErrorKind::UnsupportedMediaType), "{values:?}");
        }
        let row = ErrorKind::UnsupportedMediaType.row();
        assert_eq!((row.json_rpc, row.http.as_u16()), (-32005, 415));
    }
}
