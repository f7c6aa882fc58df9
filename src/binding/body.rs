//! Reading a request's body: within a size, a time, and the room that all bodies share.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::protocol::{ErrorKind, ServiceError};

/// Largest body of a request, in bytes.
pub const MAX_BODY_BYTES: u32 = 256 * 1024;
/// Bytes of all bodies in memory at a time. A turn holds its body to its end, but few turns run and few bodies are large.
const ROOM_BYTES: u32 = 64 * 1024 * 1024;
/// A body must arrive whole within this time.
const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// When a client may come back that found no room.
const ROOM_RETRY: Duration = Duration::from_secs(1);

/// The room for bodies in memory.
#[derive(Debug, Clone)]
pub struct BodyRoom(Arc<Semaphore>);

/// A body in memory; its room comes free when it is dropped.
#[derive(Debug)]
pub struct HeldBody {
    bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

impl std::ops::Deref for HeldBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Why a body is not read.
#[derive(Debug)]
pub enum Unread {
    /// The request is at fault.
    Request(ServiceError),
    /// Bodies of others take all of the room.
    NoRoom(ServiceError),
}

impl Default for BodyRoom {
    fn default() -> Self {
        Self::new(ROOM_BYTES)
    }
}

impl BodyRoom {
    fn new(bytes: u32) -> Self {
        Self(Arc::new(Semaphore::new(bytes as usize)))
    }

    /// The whole body. Its room is taken before the first byte is asked for: its declared length, else all that it may have.
    pub async fn read(&self, body: Body) -> Result<HeldBody, Unread> {
        let most = match body.size_hint().upper().map(u32::try_from) {
            None => MAX_BODY_BYTES,
            Some(Ok(length)) if length <= MAX_BODY_BYTES => length,
            Some(_) => return Err(Unread::Request(too_large())),
        };
        let mut room = Arc::clone(&self.0).try_acquire_many_owned(most).map_err(|_| Unread::NoRoom(no_room()))?;
        let bytes = match tokio::time::timeout(BODY_DEADLINE, collect(body, most as usize)).await {
            Ok(bytes) => bytes.map_err(Unread::Request)?,
            Err(_) => return Err(Unread::Request(incomplete("The body did not arrive in time."))),
        };
        drop(room.split((most as usize).saturating_sub(bytes.len())));
        Ok(HeldBody { bytes, _room: room })
    }
}

/// Puts the parts of a body together as they come, so that none of them is kept beside the whole.
async fn collect(mut body: Body, most: usize) -> Result<Vec<u8>, ServiceError> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| incomplete("The body did not arrive whole.").caused_by(error))?;
        let part = frame.into_data().unwrap_or_else(|_| Bytes::new());
        if part.len() > most - bytes.len() {
            return Err(too_large());
        }
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

fn incomplete(text: &'static str) -> ServiceError {
    ServiceError::new(ErrorKind::ParseError, text)
}

fn too_large() -> ServiceError {
    ServiceError::new(ErrorKind::PayloadTooLarge, format!("A request may have {MAX_BODY_BYTES} bytes at most."))
}

fn no_room() -> ServiceError {
    let text = "The server is reading as many requests as it can hold.";
    ServiceError::new(ErrorKind::Unavailable, text).retry_after(ROOM_RETRY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: usize) -> Body {
        Body::from(vec![b'x'; bytes])
    }

    fn unread(outcome: Result<HeldBody, Unread>) -> (bool, ErrorKind) {
        match outcome.unwrap_err() {
            Unread::Request(error) => (false, error.kind()),
            Unread::NoRoom(error) => (true, error.kind()),
        }
    }

    #[tokio::test]
    async fn a_body_takes_room_for_its_length_until_it_is_dropped() {
        let room = BodyRoom::new(300);
        let held = room.read(of(200)).await.unwrap();
        assert_eq!(held.len(), 200);
        assert_eq!(unread(room.read(of(101)).await), (true, ErrorKind::Unavailable));
        let small = room.read(of(100)).await.unwrap();
        drop((held, small));
        assert!(room.read(of(300)).await.is_ok());
    }

    #[tokio::test]
    async fn room_is_taken_before_a_byte_has_come_and_given_back_when_the_client_leaves() {
        let room = BodyRoom::new(MAX_BODY_BYTES);
        let never = Body::from_stream(futures::stream::pending::<std::io::Result<Bytes>>());
        let mut waiting = Box::pin(room.read(never));
        assert!(futures::poll!(&mut waiting).is_pending());
        assert!(unread(room.read(of(1)).await).0);
        drop(waiting);
        assert!(room.read(of(1)).await.is_ok());
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_holds_in_the_end_what_it_has() {
        let chunked = |bytes: usize| {
            let parts = (0..bytes).step_by(10).map(|_| Ok::<_, std::io::Error>(Bytes::from_static(b"0123456789")));
            Body::from_stream(futures::stream::iter(parts.collect::<Vec<_>>()))
        };
        let all = MAX_BODY_BYTES as usize + 10;
        let room = BodyRoom::new(MAX_BODY_BYTES + 10);
        let held = room.read(chunked(10)).await.unwrap();
        assert_eq!((&*held, room.0.available_permits()), (&b"0123456789"[..], all - 10));
        assert_eq!(room.read(chunked(1000)).await.unwrap().len(), 1000);
        drop(held);
        for body in [chunked(all), of(all)] {
            assert_eq!(unread(room.read(body).await), (false, ErrorKind::PayloadTooLarge));
        }
        assert_eq!(room.0.available_permits(), all);
    }
}
