//! The platform's front end: the headers it adds, the slashes it decodes and the silent connections it cuts.

use std::{
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Uri, header::HOST};
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Sleep, sleep};
use uuid::Uuid;

use crate::{
    http_types::{Body, BoxError},
    routing::path::decode_slashes,
};

/// What stands between the internet and the host in Azure.
#[derive(Clone, Debug)]
pub struct FrontEnd {
    /// Address of the client, as the front end saw it.
    pub client: IpAddr,
    /// The name under which the platform knows the app.
    pub default_host: String,
    /// Whether `%2F` in a path becomes a slash.
    pub decode_slashes: bool,
    /// How long a response may stay silent before the connection is cut.
    pub idle_cut: Duration,
}

impl Default for FrontEnd {
    fn default() -> Self {
        Self {
            client: IpAddr::from([203, 0, 113, 7]),
            default_host: "functions-test-host.azurewebsites.net".to_owned(),
            decode_slashes: true,
            idle_cut: Duration::from_secs(230),
        }
    }
}

/// A response that stayed silent for too long.
#[derive(Debug, thiserror::Error)]
#[error("the front end cut a silent response")]
pub(super) struct IdleCut;

impl FrontEnd {
    /// Rewrites a request on its way to the host.
    pub(super) fn apply<B>(&self, request: &mut Request<B>) {
        let raw = request.uri().path_and_query().map_or("/", |target| target.as_str()).to_owned();
        if self.decode_slashes {
            decode_target(request.uri_mut());
        }
        let headers = request.headers_mut();
        let host = headers.get(HOST).cloned();
        let client = format!("{}:49152", self.client);
        let forwarded_for = match headers.get("x-forwarded-for").and_then(|value| value.to_str().ok()) {
            Some(before) => format!("{before}, {client}"),
            None => client.clone(),
        };
        set(headers, "x-arr-log-id", &Uuid::new_v4().to_string());
        set(headers, "x-arr-ssl", "2048|256|CN=Example CA|CN=*.azurewebsites.net");
        set(headers, "x-forwarded-for", &forwarded_for);
        set(headers, "x-forwarded-proto", "https");
        set(headers, "client-ip", &client);
        set(headers, "was-default-hostname", &self.default_host);
        set(headers, "max-forwards", "10");
        set(headers, "x-original-url", &raw);
        set(headers, "x-waws-unencoded-url", &raw);
        if let Some(host) = host {
            headers.insert("disguised-host", host);
        }
    }

    /// A body that fails when no frame arrives in time.
    pub(super) fn watch(&self, body: Body) -> Body {
        Watched { body, limit: self.idle_cut, silence: Box::pin(sleep(self.idle_cut)) }.boxed_unsync()
    }
}

fn set(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn decode_target(uri: &mut Uri) {
    let path = decode_slashes(uri.path());
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    if let Ok(decoded) = format!("{path}{query}").parse() {
        *uri = decoded;
    }
}

struct Watched {
    body: Body,
    limit: Duration,
    silence: Pin<Box<Sleep>>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.silence = Box::pin(sleep(self.limit));
            return Poll::Ready(frame);
        }
        ready!(self.silence.as_mut().poll(context));
        Poll::Ready(Some(Err(IdleCut.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
