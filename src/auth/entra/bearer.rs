//! The token of an `Authorization` header (RFC 6750 section 2.1).

use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::auth::Refusal;

/// Longest token that is looked at, in bytes. Entra's have about 2 KiB; those with many groups stay below 8 KiB.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// The bearer token of a request; `None` when there is no credential at all.
pub(super) fn bearer_token(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    // Which of two would count depends on who reads them: neither does.
    if values.next().is_some() {
        return Err(Refusal::MalformedToken);
    }
    let value = value.to_str().map_err(|_| Refusal::MalformedToken)?;
    let (scheme, token) = value.split_once(' ').ok_or(Refusal::NotBearer)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Refusal::NotBearer);
    }
    let token = token.trim_start_matches(' ');
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if token.is_empty() || token.len() > MAX_TOKEN_BYTES || !token.bytes().all(legal) {
        return Err(Refusal::MalformedToken);
    }
    Ok(Some(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Result<Option<String>, Refusal> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, value.parse().unwrap());
        }
        bearer_token(&headers).map(|token| token.map(str::to_owned))
    }

    #[test]
    fn c086_only_one_bearer_token_of_legal_characters_is_read() {
        let long = format!("Bearer {}", "a".repeat(MAX_TOKEN_BYTES + 1));
        for (values, expected) in [
            (&[][..], Ok(None)),
            (&["Bearer a.b-c_d.e"], Ok(Some("a.b-c_d.e"))),
            (&["bearer   a.b.c"], Ok(Some("a.b.c"))),
            (&["Bearer"], Err(Refusal::NotBearer)),
            (&["Bearer "], Err(Refusal::MalformedToken)),
            (&["Bearer a.b c"], Err(Refusal::MalformedToken)),
            (&["Bearer a=b"], Err(Refusal::MalformedToken)),
            (&["Bearer a,Bearer b"], Err(Refusal::MalformedToken)),
            (&["Bearer a", "Bearer a"], Err(Refusal::MalformedToken)),
            (&["Basic dXNlcjpwYXNz"], Err(Refusal::NotBearer)),
            (&["AWS4-HMAC-SHA256 Credential=AKIA/20261201/eu-west-1/lambda/aws4_request"], Err(Refusal::NotBearer)),
            (&[long.as_str()], Err(Refusal::MalformedToken)),
        ] {
            assert_eq!(read(values), expected.map(|token| token.map(str::to_owned)), "{values:?}");
        }
    }
}
