//! The card over HTTP: conditional requests and caching (specification section 8.6, RFC 9110 section 13).

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};

use crate::agents::card::ServedCard;
use crate::protocol::ServiceError;
use crate::protocol::media_type::APPLICATION_JSON;

/// How long a card may be used unasked; a change is seen within this time.
const MAX_AGE_SECONDS: u32 = 300;

/// The answer to GET or HEAD for a card that the caller may read: the card, or 304 when the client has it.
pub fn respond(card: &ServedCard, method: &Method, headers: &HeaderMap) -> Result<Response<Bytes>, ServiceError> {
    let not_modified = is_current(card, headers);
    let body = if not_modified || method == Method::HEAD { Bytes::new() } else { card.body.clone() };
    let mut response = Response::new(body);
    let audience = if card.credential_header.is_some() { "private" } else { "public" };
    let mut fields: Vec<(HeaderName, String)> = vec![
        (ETAG, card.etag.clone()),
        (LAST_MODIFIED, httpdate::fmt_http_date(card.last_modified)),
        (CACHE_CONTROL, format!("{audience}, max-age={MAX_AGE_SECONDS}")),
    ];
    fields.extend(card.credential_header.map(|name| (VARY, name.to_owned())));
    if not_modified {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        fields.push((CONTENT_TYPE, APPLICATION_JSON.to_owned()));
        // HEAD says how long the card is, too.
        fields.push((CONTENT_LENGTH, card.body.len().to_string()));
    }
    for (name, value) in fields {
        let value = HeaderValue::try_from(value).map_err(ServiceError::internal)?;
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}

/// Whether the client says that it has this very card. Tags count before dates, and a date that cannot be read is ignored.
fn is_current(card: &ServedCard, headers: &HeaderMap) -> bool {
    if headers.contains_key(IF_NONE_MATCH) {
        return headers
            .get_all(IF_NONE_MATCH)
            .iter()
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(','))
            .map(str::trim)
            .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == card.etag);
    }
    let since = headers.get(IF_MODIFIED_SINCE).and_then(|value| httpdate::parse_http_date(value.to_str().ok()?).ok());
    // HTTP dates have whole seconds, so the card's own date is cut to them before it is compared.
    let last_modified = httpdate::HttpDate::from(card.last_modified);
    since.is_some_and(|since| last_modified <= httpdate::HttpDate::from(since))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    fn card(credential_header: Option<&'static str>) -> ServedCard {
        ServedCard {
            body: Bytes::from_static(b"{\"name\":\"x\"}"),
            etag: "\"abc\"".to_owned(),
            // Half a second after the whole second that the header can say.
            last_modified: SystemTime::UNIX_EPOCH + Duration::from_millis(784_111_777_500),
            credential_header,
        }
    }

    fn get(lines: &[(HeaderName, &str)]) -> Response<Bytes> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, value.parse().unwrap());
        }
        respond(&card(None), &Method::GET, &headers).unwrap()
    }

    fn header(response: &Response<Bytes>, name: HeaderName) -> Option<&str> {
        response.headers().get(name).map(|value| value.to_str().unwrap())
    }

    #[test]
    fn c036_the_card_comes_with_all_that_caching_needs() {
        let response = get(&[]);
        assert_eq!((response.status().as_u16(), response.body().as_ref()), (200, &b"{\"name\":\"x\"}"[..]));
        for (name, value) in [
            (CONTENT_TYPE, "application/json"),
            (CONTENT_LENGTH, "12"),
            (CACHE_CONTROL, "public, max-age=300"),
            (ETAG, "\"abc\""),
            (LAST_MODIFIED, MODIFIED),
        ] {
            assert_eq!(header(&response, name), Some(value));
        }
        assert_eq!(header(&response, VARY), None);
    }

    #[test]
    fn c036_a_client_that_has_the_card_gets_304_without_a_body() {
        for lines in [
            &[(IF_NONE_MATCH, "\"abc\"")][..],
            &[(IF_NONE_MATCH, "W/\"abc\"")],
            &[(IF_NONE_MATCH, "\"x\", W/\"y\" ,\"abc\"")],
            &[(IF_NONE_MATCH, "\"x\""), (IF_NONE_MATCH, "\"abc\"")],
            &[(IF_NONE_MATCH, "*")],
            &[(IF_MODIFIED_SINCE, MODIFIED)],
            &[(IF_MODIFIED_SINCE, "Sunday, 06-Nov-94 08:49:38 GMT")],
            &[(IF_NONE_MATCH, "\"abc\""), (IF_MODIFIED_SINCE, "Sat, 05 Nov 1994 08:49:37 GMT")],
        ] {
            let response = get(lines);
            assert_eq!((response.status().as_u16(), response.body().len()), (304, 0), "{lines:?}");
            assert_eq!(header(&response, ETAG), Some("\"abc\""));
            assert_eq!(header(&response, CACHE_CONTROL), Some("public, max-age=300"));
            assert_eq!(header(&response, CONTENT_TYPE), None);
        }
    }

    #[test]
    fn c036_a_client_that_has_another_card_gets_this_one() {
        for lines in [
            &[(IF_NONE_MATCH, "\"ab\"")][..],
            &[(IF_NONE_MATCH, "abc")],
            &[(IF_NONE_MATCH, "")],
            &[(IF_MODIFIED_SINCE, "Sun, 06 Nov 1994 08:49:36 GMT")],
            &[(IF_MODIFIED_SINCE, "yesterday")],
            // The tag decides, whatever the date says.
            &[(IF_NONE_MATCH, "\"x\""), (IF_MODIFIED_SINCE, MODIFIED)],
        ] {
            assert_eq!(get(lines).status().as_u16(), 200, "{lines:?}");
        }
    }

    #[test]
    fn head_has_the_headers_of_get_and_no_body() {
        let response = respond(&card(None), &Method::HEAD, &HeaderMap::new()).unwrap();
        assert!(response.body().is_empty());
        assert_eq!(response.headers(), get(&[]).headers());
    }

    #[test]
    fn a_card_that_asks_for_credentials_stays_out_of_shared_caches() {
        let response = respond(&card(Some("x-functions-key")), &Method::GET, &HeaderMap::new()).unwrap();
        assert_eq!(header(&response, CACHE_CONTROL), Some("private, max-age=300"));
        assert_eq!(header(&response, VARY), Some("x-functions-key"));
    }
}
