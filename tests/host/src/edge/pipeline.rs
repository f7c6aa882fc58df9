//! The way of a request through one copy of the host, in the order of the host's own middleware.

use std::sync::Arc;

use http::{
    HeaderName, HeaderValue, Request, Response, StatusCode, Version,
    header::{CONTENT_LENGTH, CONTENT_TYPE, HOST},
};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use uuid::Uuid;

use super::admin;
use crate::{
    app::{App, Copy},
    dispatch::{Invocation, Origin, invoke},
    function::AuthLevel,
    http_types::{Body, Reply, bare, full},
    routing::path::decode,
};

const HOMEPAGE: &str = "<!DOCTYPE html><title>Functions</title><p>This function app is up and running.";

/// Answers one request.
pub(super) async fn answer(app: &Arc<App>, copy: &Copy, origin: Origin, request: Request<Incoming>) -> Reply {
    if !has_one_host(&request) {
        return bare(StatusCode::BAD_REQUEST);
    }
    if copy.worker.stopped().is_some() {
        return not_running();
    }
    let request = bound_body(app, request);
    let path = decode(request.uri().path());
    let request = match admin::answer(app, &path, request).await {
        Ok(reply) => return reply,
        Err(request) => request,
    };
    let Some(place) = copy.throttle.enter().await else {
        let mut reply = bare(StatusCode::TOO_MANY_REQUESTS);
        reply.headers_mut().insert("x-function-scaleout", HeaderValue::from_static("1"));
        return reply;
    };
    let mut reply = run(app, copy, origin, &path, request).await;
    add_custom_headers(app, &mut reply);
    place.hold(reply)
}

async fn run(app: &Arc<App>, copy: &Copy, origin: Origin, path: &str, request: Request<Body>) -> Reply {
    if app.guards_reserved_routes() && is_reserved(path) {
        return bare(StatusCode::NOT_FOUND);
    }
    let Some((function, values)) = app.routes.find(&app.functions.functions, request.method(), path) else {
        return if path == "/" { homepage(app) } else { bare(StatusCode::NOT_FOUND) };
    };
    let identity = app.identify(request.headers(), request.uri().query(), Some(&function.name));
    if function.disabled && identity.level != AuthLevel::Admin {
        return bare(StatusCode::NOT_FOUND);
    }
    let required = function.http().map_or(AuthLevel::Admin, |http| http.level);
    if !identity.satisfies(required) {
        return bare(StatusCode::UNAUTHORIZED);
    }
    let worker = &copy.worker;
    invoke(Invocation { app, worker, function, values, identity, origin, id: Uuid::new_v4() }, request).await
}

/// HTTP/1.1 wants exactly one Host.
fn has_one_host<B>(request: &Request<B>) -> bool {
    let count = request.headers().get_all(HOST).iter().count();
    count == 1 || (count == 0 && request.version() == Version::HTTP_10)
}

fn not_running() -> Reply {
    let mut reply = Response::new(full("Function host is not running."));
    *reply.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    reply
}

/// Bounds the body. A declared length over the bound fails at the first read already.
fn bound_body(app: &App, request: Request<Incoming>) -> Request<Body> {
    let declared = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let limit = match declared {
        Some(length) if length > app.body_limit => 0,
        _ => app.body_limit,
    };
    request.map(|body| Limited::new(body, limit).boxed_unsync())
}

/// `/admin` and `/runtime` belong to the host; the warm-up call alone may reach a function.
fn is_reserved(path: &str) -> bool {
    let first = path.strip_prefix('/').unwrap_or(path).split('/').next().unwrap_or_default();
    (first.eq_ignore_ascii_case("admin") || first.eq_ignore_ascii_case("runtime"))
        && !path.eq_ignore_ascii_case("/admin/warmup")
}

fn homepage(app: &App) -> Reply {
    if app.environment.is_true("AzureWebJobsDisableHomepage") {
        return bare(StatusCode::NO_CONTENT);
    }
    let mut reply = Response::new(full(HOMEPAGE));
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
    reply
}

/// Adds the headers of `extensions.http.customHeaders` that the reply does not have.
fn add_custom_headers(app: &App, reply: &mut Reply) {
    for (name, value) in &app.config.http.custom_headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) {
            reply.headers_mut().entry(name).or_insert(value);
        }
    }
}
