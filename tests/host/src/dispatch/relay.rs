//! The handler's response body on its way to the client, one read at a time.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, Incoming};
use tokio::sync::mpsc;

use super::deadline::{Activity, Deadline};
use crate::http_types::{Body, BoxError};

/// A relayed body that did not reach its end; the client's connection is aborted.
#[derive(Debug, thiserror::Error)]
#[error("the handler's response was cut")]
struct Cut;

/// Starts copying `source` and returns the other end. The copy ends early when the client goes away, when nothing
/// moves for `idle_limit`, or when the deadline passes; dropping `source` then closes the handler's connection.
pub(super) fn relay(source: Incoming, activity: Activity, idle_limit: Duration, deadline: Deadline) -> Body {
    // One frame of buffer: backpressure from the client reaches the handler.
    let (sender, frames) = mpsc::channel(1);
    let complete = Arc::new(AtomicBool::new(false));
    let body = Relayed { frames, complete: Arc::clone(&complete) };
    tokio::spawn(async move {
        tokio::select! {
            whole = copy(source, &sender, &activity) => complete.store(whole, Ordering::Release),
            () = sender.closed() => {}
            () = activity.idle(idle_limit) => {}
            () = deadline.expired() => {}
        }
    });
    body.boxed_unsync()
}

/// Copies until the end (true) or a failure (false).
async fn copy(mut source: Incoming, sender: &mpsc::Sender<Frame<Bytes>>, activity: &Activity) -> bool {
    loop {
        match source.frame().await {
            None => return true,
            Some(Err(_)) => return false,
            Some(Ok(frame)) => {
                activity.touch();
                if sender.send(frame).await.is_err() {
                    return false;
                }
                activity.touch();
            }
        }
    }
}

struct Relayed {
    frames: mpsc::Receiver<Frame<Bytes>>,
    complete: Arc<AtomicBool>,
}

impl HttpBody for Relayed {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.frames.poll_recv(context).map(|frame| match frame {
            Some(frame) => Some(Ok(frame)),
            None if self.complete.load(Ordering::Acquire) => None,
            None => Some(Err(Cut.into())),
        })
    }
}
