//! AWS Lambda: events of Function URLs, API Gateway and load balancers, answered by the same door.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use lambda_http::RequestExt as _;

use super::Door;
use super::log::InvocationId;

/// Leading segments of a path that a stage, a custom domain's mapping, or both may have put there.
const MAX_FOREIGN_SEGMENTS: usize = 3;

/// Answers events until Lambda ends the process.
pub async fn serve(door: Door) -> Result<(), lambda_http::Error> {
    let door = Arc::new(door);
    lambda_http::run(lambda_http::service_fn(move |event: lambda_http::Request| {
        let door = Arc::clone(&door);
        async move { Ok::<_, std::convert::Infallible>(answer(&door, event).await) }
    }))
    .await
}

/// Answers one event that `lambda_http` has turned into a request.
pub async fn answer(door: &Door, event: lambda_http::Request) -> Response<Body> {
    let id = event.lambda_context_ref().map(|context| InvocationId(context.request_id.clone()));
    let (mut parts, body) = event.into_parts();
    if let Some(id) = id {
        parts.extensions.insert(id);
    }
    parts.uri = own_uri(door, &parts.uri);
    let body = Body::from(match body {
        lambda_http::Body::Text(text) => Bytes::from(text),
        lambda_http::Body::Binary(bytes) => Bytes::from(bytes),
        _ => Bytes::new(),
    });
    door.answer(Request::from_parts(parts, body)).await
}

/// The address without what the gateway put before it: the shortest cut that leads somewhere, else the whole.
fn own_uri(door: &Door, uri: &Uri) -> Uri {
    let mut path = uri.path();
    for _ in 0..=MAX_FOREIGN_SEGMENTS {
        if door.knows(path) {
            let own = match uri.query() {
                Some(query) => format!("{path}?{query}"),
                None => path.to_owned(),
            };
            return PathAndQuery::try_from(own).map_or_else(|_| uri.clone(), Uri::from);
        }
        match path.get(1..).and_then(|rest| rest.find('/')) {
            Some(slash) => path = &path[slash + 1..],
            None => break,
        }
    }
    uri.clone()
}
