//! Answers that nobody takes: a client that sends requests and does not read would keep its connection for ever.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A stream that fails once what was written to it has waited too long for its reader.
///
/// The time counts from the first write that finds no room to the flush after the last one, however small the bites are that
/// the reader takes in between. A stream that nothing is written to has no such time: a turn may take as long as it needs.
#[derive(Debug)]
pub(super) struct WriteDeadline<S> {
    stream: S,
    limit: Duration,
    /// Runs while something waits.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteDeadline<S> {
    pub(super) fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, timer: None }
    }
}

impl<S: AsyncWrite + Unpin> WriteDeadline<S> {
    /// What became of an attempt to write: a failure when it has to wait and the time is over.
    fn judge<T>(&mut self, attempt: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if attempt.is_ready() {
            return attempt;
        }
        let limit = self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + limit)));
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the answer was not read in time")))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteDeadline<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(attempt, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let attempt = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.judge(attempt, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.stream).poll_flush(context);
        ready!(self.judge(attempt, context))?;
        self.timer = None;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let attempt = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(attempt, context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteDeadline<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    /// Writes `bytes` to a reader that takes one of them each `pause`, and says how long that took and how it ended.
    async fn write(bytes: usize, pause: Duration) -> (Duration, io::Result<()>) {
        let (near, mut far) = duplex(1);
        let reader = tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                if far.read_u8().await.is_err() {
                    return;
                }
            }
        });
        let mut stream = WriteDeadline::new(near, LIMIT);
        let started = Instant::now();
        let outcome = async {
            stream.write_all(&vec![0; bytes]).await?;
            stream.flush().await
        };
        let outcome = outcome.await;
        reader.abort();
        (started.elapsed(), outcome)
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_has_a_total_time_however_small_the_bites_of_its_reader() {
        let second = Duration::from_secs(1);
        assert!(write(20, second).await.1.is_ok());
        for pause in [second, LIMIT * 100] {
            let (took, outcome) = write(1000, pause).await;
            assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::TimedOut, "{pause:?}");
            assert!((LIMIT..LIMIT + second * 2).contains(&took), "{took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_answer_has_a_time_of_its_own() {
        let (near, mut far) = duplex(1);
        tokio::spawn(async move {
            while far.read_u8().await.is_ok() {
                tokio::time::sleep(LIMIT / 2).await;
            }
        });
        let mut stream = WriteDeadline::new(near, LIMIT);
        for _ in 0..10 {
            stream.write_all(&[0; 2]).await.unwrap();
            stream.flush().await.unwrap();
            tokio::time::sleep(LIMIT * 2).await;
        }
    }
}
