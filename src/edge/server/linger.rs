//! Reading on after the answer: a connection that is closed over unread bytes is reset, and the answer gets lost on its way.
//! Gateways then report a failure of ours instead of the refusal that they were sent.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::header::EXPECT;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};

/// How long a body is read on after its request was answered.
const LINGER: Duration = Duration::from_secs(5);
/// Most bytes that are read on.
const LINGER_BYTES: usize = 64 * 1024 * 1024;

/// A request's body; what is left of it when it is dropped is read and thrown away in the background.
#[derive(Debug)]
pub(super) struct LingeringBody {
    body: Option<Incoming>,
    /// The client sends no body before we ask for it, and we have not.
    held_back: bool,
}

impl LingeringBody {
    pub(super) fn of(request: Request<Incoming>) -> Request<axum::body::Body> {
        let held_back = request.headers().contains_key(EXPECT);
        request.map(|body| axum::body::Body::new(Self { body: Some(body), held_back }))
    }
}

impl Body for LingeringBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.held_back = false;
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for LingeringBody {
    fn drop(&mut self) {
        let rest = self.body.take().filter(|body| !self.held_back && !body.is_end_stream());
        if let (Some(rest), Ok(runtime)) = (rest, tokio::runtime::Handle::try_current()) {
            runtime.spawn(tokio::time::timeout(LINGER, discard(rest)));
        }
    }
}

async fn discard(mut body: Incoming) {
    let mut left = LINGER_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        if length > left {
            return;
        }
        left -= length;
    }
}
