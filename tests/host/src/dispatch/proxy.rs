//! Proxy mode: the request streams to the handler and the response streams back.

use std::time::Duration;

use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response,
    header::{self, HOST},
    request::Parts,
};
use hyper::body::Incoming;
use tokio::time::sleep;

use super::{
    Failure, Invocation, add_trace_context,
    deadline::{Activity, Deadline},
    join_repeated,
    relay::relay,
    request_body::ReplayableBody,
};
use crate::{
    http_types::{Body, Reply},
    routing::path::{decode, encode_for_proxy},
};

/// Pauses between attempts while the handler cannot be reached: ten attempts in all.
const RETRY_PAUSES: [Duration; 9] = {
    let long = Duration::from_millis(250);
    [
        Duration::from_millis(50),
        Duration::from_millis(100),
        Duration::from_millis(200),
        long,
        long,
        long,
        long,
        long,
        long,
    ]
};

/// Headers that never pass the proxy, in either direction.
const NOT_PROXIED: [&str; 17] = [
    "connection",
    "transfer-encoding",
    "keep-alive",
    "upgrade",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-features",
    "proxy-instruction",
    "security-scheme",
    "alpn",
    "close",
    "http2-settings",
    "upgrade-insecure-requests",
    "te",
    "alt-svc",
];

/// Sends the request to the handler and relays the answer.
pub(super) async fn invoke(
    invocation: &Invocation<'_>,
    request: Request<Body>,
    deadline: Deadline,
) -> Result<Reply, Failure> {
    let (parts, body) = request.into_parts();
    let activity = Activity::new();
    let body = ReplayableBody::new(body, activity.clone());
    let idle_limit = invocation.app.knobs.proxy_inactivity;
    let response = tokio::select! {
        response = send(invocation, &parts, &body) => response?,
        () = deadline.expired() => return Err(Failure::TimedOut),
        () = activity.idle(idle_limit) => return Err(Failure::Idle),
    };
    activity.touch();
    let (mut parts, body) = response.into_parts();
    remove_hop_by_hop(&mut parts.headers);
    Ok(Response::from_parts(parts, relay(body, activity, idle_limit, deadline)))
}

async fn send(
    invocation: &Invocation<'_>,
    parts: &Parts,
    body: &ReplayableBody,
) -> Result<Response<Incoming>, Failure> {
    let client = &invocation.worker.client;
    let path = encode_for_proxy(&decode(parts.uri.path()));
    let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let uri: http::Uri = format!("http://{}{path}{query}", client.authority()).parse()?;
    let headers = headers(invocation, parts)?;
    let mut pauses = RETRY_PAUSES.iter();
    loop {
        let mut request = Request::new(body.attempt());
        *request.method_mut() = parts.method.clone();
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = headers.clone();
        match client.send(request).await {
            Ok(response) => return Ok(response),
            Err(error) if body.is_read() => return Err(error.into()),
            Err(error) => match pauses.next() {
                Some(pause) => sleep(*pause).await,
                None => return Err(error.into()),
            },
        }
    }
}

fn headers(invocation: &Invocation<'_>, parts: &Parts) -> Result<HeaderMap, Failure> {
    let mut headers = join_repeated(&parts.headers);
    remove_hop_by_hop(&mut headers);
    let public_host = headers.remove(HOST);
    let mut set = |name: &'static str, value: Option<HeaderValue>| {
        let name = HeaderName::from_static(name);
        match value {
            Some(value) => headers.insert(name, value),
            None => headers.remove(name),
        };
    };
    set("x-forwarded-for", Some(invocation.origin.remote.ip().to_string().parse()?));
    set("x-forwarded-host", public_host);
    set("x-forwarded-proto", Some(HeaderValue::from_static(invocation.origin.scheme)));
    set("x-forwarded-prefix", None);
    set("forwarded", None);
    let id = HeaderValue::from_str(&invocation.id.to_string())?;
    set("x-azure-functions-hostversion", Some(HeaderValue::from_static(super::HOST_VERSION)));
    set("x-azure-functions-invocationid", Some(id.clone()));
    set("x-ms-invocation-id", Some(id));
    headers.insert(header::HOST, invocation.worker.client.authority().parse()?);
    add_trace_context(&mut headers)?;
    Ok(headers)
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    for name in NOT_PROXIED {
        headers.remove(name);
    }
}
