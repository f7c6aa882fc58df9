//! An HTTP request as binding data.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{
    HeaderMap, Request,
    header::{CONTENT_TYPE, HOST},
};
use http_body_util::BodyExt;
use serde_json::{Map, Value, json};

use super::{encode, identity::identities};
use crate::{
    dispatch::{Failure, Invocation, content_length, query},
    http_types::Body,
    routing::path::{decode, encode_for_forward},
};

/// The trigger value and the metadata of an HTTP request.
#[derive(Debug)]
pub(in crate::dispatch) struct HttpCall {
    pub(super) value: Value,
    pub(super) metadata: Map<String, Value>,
}

impl HttpCall {
    /// Reads the request, with its body when `Content-Length` says that there is one: a chunked body is lost.
    pub(in crate::dispatch) async fn read(
        invocation: &Invocation<'_>,
        request: Request<Body>,
    ) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        let raw_query = parts.uri.query().unwrap_or_default();
        let query = object(query::joined(raw_query).into_iter().map(|(key, value)| (key, Value::String(value))));
        let headers = object(parts.headers.keys().map(|name| (canonical(name.as_str()), values(&parts.headers, name))));
        let params = object(invocation.values.iter().map(|(name, value)| (name.clone(), json!(value))));
        let mut value = object([
            ("Url".to_owned(), Value::String(url(invocation, &parts))),
            ("Method".to_owned(), Value::String(parts.method.to_string())),
            ("Query".to_owned(), Value::Object(query.clone())),
            ("Headers".to_owned(), Value::Object(headers.clone())),
            ("Params".to_owned(), Value::Object(params)),
            ("Identities".to_owned(), identities(invocation, &parts.headers)),
        ]);
        if content_length(&parts.headers).is_some_and(|length| length > 0) {
            let bytes = body.collect().await.map_err(Failure::RequestBody)?.to_bytes();
            value.insert("Body".to_owned(), body_value(&parts.headers, &bytes));
        }
        let mut metadata = object([
            ("Query".to_owned(), Value::Object(query.clone())),
            ("Headers".to_owned(), Value::Object(headers)),
        ]);
        metadata.extend(query.iter().map(|(name, value)| (name.clone(), encode(value))));
        let used = invocation.values.iter().filter_map(|(name, value)| Some((name.clone(), json!(value.as_ref()?))));
        metadata.extend(used.map(|(name, value)| (name, encode(&value))));
        metadata.retain(|name, _| !name.to_ascii_lowercase().ends_with("trigger"));
        Ok(Self { value: Value::Object(value), metadata })
    }
}

fn object(members: impl IntoIterator<Item = (String, Value)>) -> Map<String, Value> {
    members.into_iter().collect()
}

fn values(headers: &HeaderMap, name: &http::HeaderName) -> Value {
    headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect()
}

/// `content-type` to `Content-Type`: the server keeps the usual spelling of a header's name.
fn canonical(name: &str) -> String {
    let word = |word: &str| match word.split_at_checked(1) {
        Some((first, rest)) => first.to_ascii_uppercase() + rest,
        None => String::new(),
    };
    name.split('-').map(word).collect::<Vec<_>>().join("-")
}

fn url(invocation: &Invocation<'_>, parts: &http::request::Parts) -> String {
    let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let path = encode_for_forward(&decode(parts.uri.path()));
    let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}://{host}{path}{query}", invocation.origin.scheme)
}

fn body_value(headers: &HeaderMap, bytes: &[u8]) -> Value {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = media_type.to_ascii_lowercase();
    if media_type.starts_with("application/octet-stream") || media_type.contains("multipart/") {
        Value::String(STANDARD.encode(bytes))
    } else {
        Value::String(String::from_utf8_lossy(bytes).into_owned())
    }
}
