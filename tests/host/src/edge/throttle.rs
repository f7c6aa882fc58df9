//! `maxOutstandingRequests` and `maxConcurrentRequests` of host.json.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    config::HttpOptions,
    http_types::{Body, BoxError, Reply},
};

/// The request queue of one copy of the host.
#[derive(Clone, Debug)]
pub(crate) struct Throttle {
    outstanding: Arc<AtomicUsize>,
    max_outstanding: usize,
    concurrent: Arc<Semaphore>,
}

/// Counts one request that waits or runs.
#[derive(Debug)]
struct Outstanding(Arc<AtomicUsize>);

/// The right to run until the response is complete.
#[derive(Debug)]
pub(super) struct Place {
    _outstanding: Outstanding,
    _running: Option<OwnedSemaphorePermit>,
}

impl Throttle {
    pub(crate) fn new(options: &HttpOptions) -> Self {
        let concurrent = options.max_concurrent.unwrap_or(Semaphore::MAX_PERMITS).min(Semaphore::MAX_PERMITS);
        Self {
            outstanding: Arc::default(),
            max_outstanding: options.max_outstanding.unwrap_or(usize::MAX),
            concurrent: Arc::new(Semaphore::new(concurrent)),
        }
    }

    /// Takes a place and waits for its turn; `None` when the queue is full.
    pub(super) async fn enter(&self) -> Option<Place> {
        let before = self.outstanding.fetch_add(1, Ordering::AcqRel);
        let outstanding = Outstanding(Arc::clone(&self.outstanding));
        if before >= self.max_outstanding {
            return None;
        }
        let running = Arc::clone(&self.concurrent).acquire_owned().await.ok();
        Some(Place { _outstanding: outstanding, _running: running })
    }
}

impl Drop for Outstanding {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Place {
    /// Keeps the place until the body of the reply is done with.
    pub(super) fn hold(self, reply: Reply) -> Reply {
        reply.map(|body| Held { body, _place: self }.boxed_unsync())
    }
}

struct Held {
    body: Body,
    _place: Place,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
