//! The client's request body: bounded, observed, and replayable as long as nobody has read from it.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::deadline::Activity;
use crate::http_types::{Body, BoxError};

/// A body that can be sent again until the first byte of it was read.
#[derive(Debug)]
pub(super) struct ReplayableBody {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    inner: Mutex<Body>,
    read: AtomicBool,
    activity: Activity,
}

impl ReplayableBody {
    pub(super) fn new(inner: Body, activity: Activity) -> Self {
        Self { shared: Arc::new(Shared { inner: Mutex::new(inner), read: AtomicBool::new(false), activity }) }
    }

    /// A body for one attempt. Only the latest one may be in use.
    pub(super) fn attempt(&self) -> Body {
        Attempt { shared: Arc::clone(&self.shared) }.boxed_unsync()
    }

    /// Whether some attempt has read from it, so that another attempt would send a body with a hole.
    pub(super) fn is_read(&self) -> bool {
        self.shared.read.load(Ordering::Acquire)
    }
}

struct Attempt {
    shared: Arc<Shared>,
}

impl HttpBody for Attempt {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let mut inner = self.shared.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let polled = Pin::new(&mut *inner).poll_frame(context);
        if let Poll::Ready(Some(_)) = &polled {
            self.shared.read.store(true, Ordering::Release);
            self.shared.activity.touch();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.shared.inner.lock().unwrap_or_else(PoisonError::into_inner).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.shared.inner.lock().unwrap_or_else(PoisonError::into_inner).size_hint()
    }
}
