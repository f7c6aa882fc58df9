//! Forward mode: the request is rebuilt from its parsed parts, and both bodies are buffered whole.

use http::{
    HeaderMap, HeaderValue, Request, Response,
    header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING, USER_AGENT},
    request::Parts,
};
use http_body_util::BodyExt;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Failure, HOST_AGENT, HOST_VERSION, Invocation, add_trace_context, join_repeated, query};
use crate::{
    http_types::{Body, Reply, empty, full},
    routing::path::{decode, encode_for_forward},
};

const QUERY_ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Headers that describe a body. The forwarder cannot carry them, except for the two that it adds again with a body.
const CONTENT_HEADERS: [&str; 11] = [
    "allow",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-md5",
    "content-range",
    "content-type",
    "expires",
    "last-modified",
];

/// Sends the request to the handler and returns its whole answer.
pub(super) async fn invoke(invocation: &Invocation<'_>, request: Request<Body>) -> Result<Reply, Failure> {
    let (parts, body) = request.into_parts();
    if parts.headers.contains_key(TRANSFER_ENCODING) {
        // The header is copied and the body is not, which the host's client refuses to send.
        return Err(Failure::ChunkedBody);
    }
    let has_body = super::content_length(&parts.headers).is_some_and(|length| length > 0);
    let body = if has_body { full(body.collect().await.map_err(Failure::RequestBody)?.to_bytes()) } else { empty() };
    let mut forwarded = Request::new(body);
    *forwarded.method_mut() = parts.method.clone();
    *forwarded.uri_mut() = uri(invocation, &parts)?;
    *forwarded.headers_mut() = headers(invocation, &parts.headers, has_body)?;
    let response = invocation.worker.client.send(forwarded).await?;
    let (mut parts, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    parts.headers.remove(TRANSFER_ENCODING);
    Ok(Response::from_parts(parts, full(body)))
}

fn uri(invocation: &Invocation<'_>, parts: &Parts) -> Result<http::Uri, Failure> {
    let path = encode_for_forward(&decode(parts.uri.path()));
    let mut separator = '?';
    let mut query = String::new();
    for (key, value) in query::joined(parts.uri.query().unwrap_or_default()) {
        query.push(separator);
        query.extend(utf8_percent_encode(&key, QUERY_ESCAPED));
        query.push('=');
        query.extend(utf8_percent_encode(&value, QUERY_ESCAPED));
        separator = '&';
    }
    Ok(format!("http://{}{path}{query}", invocation.worker.client.authority()).parse()?)
}

fn headers(invocation: &Invocation<'_>, original: &HeaderMap, has_body: bool) -> Result<HeaderMap, Failure> {
    let mut headers = original.clone();
    for name in CONTENT_HEADERS {
        headers.remove(name);
    }
    if has_body {
        for name in [CONTENT_LENGTH, CONTENT_TYPE] {
            headers.extend(original.get(&name).map(|value| (name, value.clone())));
        }
    }
    // Added, not set: a value sent by the client stays in front.
    headers.append("x-azure-functions-hostversion", HeaderValue::from_static(HOST_VERSION));
    headers.append("x-azure-functions-invocationid", invocation.id.to_string().parse()?);
    let mut agent = headers.get(USER_AGENT).map(|agent| agent.as_bytes().to_vec()).unwrap_or_default();
    if !agent.is_empty() {
        agent.push(b' ');
    }
    agent.extend_from_slice(HOST_AGENT.as_bytes());
    headers.insert(USER_AGENT, HeaderValue::from_bytes(&agent)?);
    if !headers.contains_key(HOST) {
        headers.insert(HOST, invocation.worker.client.authority().parse()?);
    }
    add_trace_context(&mut headers)?;
    Ok(join_repeated(&headers))
}
