//! The host's own endpoints under `/admin`.

use std::sync::Arc;

use http::{Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::{
    app::App,
    function::{AuthLevel, Trigger},
    http_types::{Body, Reply, bare, full},
    triggers,
    worker::LogLevel,
};

/// Answers a request that the host owns, or gives it back.
pub(super) async fn answer(app: &Arc<App>, path: &str, request: Request<Body>) -> Result<Reply, Request<Body>> {
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let is = |index: usize, name: &str| segments.get(index).is_some_and(|segment| segment.eq_ignore_ascii_case(name));
    if !is(0, "admin") {
        return Err(request);
    }
    let method = request.method().clone();
    if is(1, "host") && is(2, "ping") && segments.len() == 3 {
        return Ok(bare(StatusCode::OK));
    }
    let status = is(1, "host") && is(2, "status") && segments.len() == 3 && method == Method::GET;
    let run = is(1, "functions") && segments.len() == 3 && method == Method::POST;
    if !status && !run {
        return Err(request);
    }
    if !app.identify(request.headers(), request.uri().query(), None).satisfies(AuthLevel::Admin) {
        return Ok(bare(StatusCode::UNAUTHORIZED));
    }
    if status { Ok(host_status()) } else { Ok(run_function(app, segments[2], request).await) }
}

fn host_status() -> Reply {
    let document = json!({"state": "Running", "version": crate::dispatch::HOST_VERSION});
    let mut reply = Response::new(full(document.to_string()));
    reply.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json; charset=utf-8"));
    reply
}

/// Starts a function in the background and answers at once.
async fn run_function(app: &Arc<App>, name: &str, request: Request<Body>) -> Reply {
    let Some(function) = app.function(name).cloned() else { return bare(StatusCode::NOT_FOUND) };
    let Ok(body) = request.into_body().collect().await else { return bare(StatusCode::INTERNAL_SERVER_ERROR) };
    let input = match serde_json::from_slice::<Value>(&body.to_bytes()) {
        Ok(document) => document.get("input").and_then(Value::as_str).unwrap_or_default().to_owned(),
        Err(_) => return bare(StatusCode::BAD_REQUEST),
    };
    if matches!(function.trigger, Trigger::Http(_) | Trigger::Other) {
        return bare(StatusCode::NOT_IMPLEMENTED);
    }
    let app = Arc::clone(app);
    tokio::spawn(async move {
        if let Err(error) = triggers::fire(&app, &function, &input).await {
            app.log.host(0, LogLevel::Error, error.to_string());
        }
    });
    bare(StatusCode::ACCEPTED)
}
