//! Server-sent events out of a response body, with bounds on size and silence.
//!
//! `sse-stream` reads the format; it buffers an event without limit, so what it is fed is counted here. Event names, ids and
//! comments are skipped: the JSON in `data` repeats the name.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_stream::try_stream;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _};
use sse_stream::{Sse, SseByteStream};
use tokio::time::timeout;

use super::failure::Failure;

/// The longest event. The last one of a Responses stream repeats instructions and reply, so this is well above both.
const MAX_EVENT_BYTES: usize = 4 * 1024 * 1024;
/// The longest stream, all events together.
const MAX_STREAM_BYTES: usize = 64 * 1024 * 1024;
/// How long the end of the body is waited for once the reply is complete, so that the connection can be used again.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(250);

/// The events of one response.
pub(super) struct EventReader {
    events: BoxStream<'static, Result<Sse, sse_stream::Error>>,
    /// Bytes received since the last event.
    pending_bytes: Arc<AtomicUsize>,
}

impl EventReader {
    /// Reads `response`; a silence longer than `idle_timeout` ends it with a failure.
    pub(super) fn new(response: reqwest::Response, idle_timeout: Duration) -> Self {
        let pending_bytes = Arc::<AtomicUsize>::default();
        let chunks = chunks(response, idle_timeout, Arc::clone(&pending_bytes));
        Self { events: SseByteStream::new(chunks.boxed()).boxed(), pending_bytes }
    }

    /// The data of the next event, or `None` at the end of the body. An event that the end cuts off is dropped, as the
    /// format demands.
    pub(super) async fn next(&mut self) -> Result<Option<String>, Failure> {
        while let Some(event) = self.events.next().await {
            self.pending_bytes.store(0, Ordering::Relaxed);
            let data = event.map_err(failure)?.data;
            // The format takes a block without data for no event; some servers keep the connection alive with them.
            if let Some(data) = data.filter(|data| !data.is_empty()) {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }

    /// Reads to the end of the body, but not for long: an unread body costs the connection.
    pub(super) async fn drain(mut self) {
        let rest = async { while let Some(Ok(_)) = self.events.next().await {} };
        // An end that does not come costs a new connection later, and nothing now.
        let _ = timeout(DRAIN_TIMEOUT, rest).await;
    }
}

fn chunks(
    mut response: reqwest::Response,
    idle_timeout: Duration,
    pending_bytes: Arc<AtomicUsize>,
) -> impl Stream<Item = Result<Bytes, Failure>> {
    try_stream! {
        let mut bytes_left = MAX_STREAM_BYTES;
        loop {
            let chunk = timeout(idle_timeout, response.chunk()).await.map_err(|_| Failure::stalled(idle_timeout))?;
            let Some(chunk) = chunk.map_err(|_| Failure::broken_body())? else { return };
            bytes_left = bytes_left.checked_sub(chunk.len()).ok_or_else(|| Failure::too_large("the stream"))?;
            if pending_bytes.fetch_add(chunk.len(), Ordering::Relaxed) + chunk.len() > MAX_EVENT_BYTES {
                Err(Failure::too_large("an event"))?;
            }
            yield chunk;
        }
    }
}

fn failure(error: sse_stream::Error) -> Failure {
    match error {
        sse_stream::Error::Body(cause) => cause.downcast().map_or_else(|_| Failure::broken_body(), |failure| *failure),
        _ => Failure::malformed("the stream is not UTF-8".to_owned()),
    }
}
