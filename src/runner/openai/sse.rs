//! Server-sent events out of a response body, with bounds on size and silence.
//!
//! The part of the WHATWG event-stream format that model providers use: `data` lines joined by newlines, ended by a blank
//! line. Event names, ids and comments are skipped: the JSON in `data` repeats the name.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};
use tokio_util::io::StreamReader;

use super::failure::Failure;

/// The longest line. The last event of a Responses stream repeats instructions and reply, so this is well above both.
const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;
/// The longest stream, all events together.
const MAX_STREAM_BYTES: usize = 64 * 1024 * 1024;
/// How long the end of the body is waited for once the reply is complete, so that the connection can be used again.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(250);

type Lines = std::pin::Pin<Box<dyn futures::Stream<Item = Result<String, LinesCodecError>> + Send>>;

/// The events of one response.
pub(super) struct EventReader {
    lines: Lines,
    idle_timeout: Duration,
    bytes_left: usize,
}

impl EventReader {
    /// Reads `response`; a silence longer than `idle_timeout` ends it with a failure.
    pub(super) fn new(response: reqwest::Response, idle_timeout: Duration) -> Self {
        let body = StreamReader::new(response.bytes_stream().map_err(std::io::Error::other));
        let lines = FramedRead::new(body, LinesCodec::new_with_max_length(MAX_LINE_BYTES));
        Self { lines: lines.boxed(), idle_timeout, bytes_left: MAX_STREAM_BYTES }
    }

    /// The data of the next event, or `None` at the end of the body. An event that the end cuts off is dropped, as the
    /// format demands.
    pub(super) async fn next(&mut self) -> Result<Option<String>, Failure> {
        let mut data: Option<String> = None;
        while let Some(line) = self.line().await? {
            if line.is_empty() {
                if data.is_some() {
                    return Ok(data);
                }
                continue;
            }
            let Some(value) = line.strip_prefix("data:") else { continue };
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => data = Some(value.to_owned()),
            }
        }
        Ok(None)
    }

    async fn line(&mut self) -> Result<Option<String>, Failure> {
        let line = match tokio::time::timeout(self.idle_timeout, self.lines.next()).await {
            Err(_) => return Err(Failure::stalled(self.idle_timeout)),
            Ok(None) => return Ok(None),
            Ok(Some(Ok(line))) => line,
            Ok(Some(Err(LinesCodecError::MaxLineLengthExceeded))) => return Err(Failure::too_large("an event")),
            Ok(Some(Err(LinesCodecError::Io(error)))) => return Err(Failure::broken_body(&error)),
        };
        self.bytes_left =
            self.bytes_left.checked_sub(line.len() + 1).ok_or_else(|| Failure::too_large("the stream"))?;
        Ok(Some(line))
    }

    /// Reads to the end of the body, but not for long: an unread body costs the connection.
    pub(super) async fn drain(mut self) {
        let rest = async { while let Some(Ok(_)) = self.lines.next().await {} };
        // An end that does not come costs a new connection later, and nothing now.
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, rest).await;
    }
}
