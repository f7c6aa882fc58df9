//! Log lines on a thread of their own: whoever reads them may be slow, stop or die, and the server goes on.

use std::io::{self, Write};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};

/// Lines that wait for their reader at most: some 2 MB.
const MAX_LINES: usize = 4096;
/// How long the end of the process waits for lines to be read.
const FLUSH_DEADLINE: Duration = Duration::from_secs(2);

/// Writes what is still on its way when it is dropped, as far as that gets within a bound of time.
#[derive(Debug)]
#[must_use]
pub struct Flush(Option<WorkerGuard>);

impl Flush {
    /// Nothing is on its way.
    pub(super) fn nothing() -> Self {
        Self(None)
    }
}

impl Drop for Flush {
    fn drop(&mut self) {
        let Some(guard) = self.0.take() else { return };
        let (done, over) = mpsc::channel();
        // The guard has bounds of its own, but complains on stdout when they are passed: nobody may be there to read that.
        let flushing = std::thread::Builder::new().spawn(move || {
            drop(guard);
            let _ = done.send(());
        });
        if flushing.is_ok() {
            let _ = over.recv_timeout(FLUSH_DEADLINE);
        }
    }
}

/// A writer that never waits, and the end of it.
pub(super) fn writer(out: impl Write + Send + 'static) -> (NonBlocking, Flush) {
    let dropped = Arc::new(OnceLock::new());
    let counting = Counting { out, dropped: Arc::clone(&dropped), told: 0 };
    let builder = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(MAX_LINES).thread_name("log");
    let (writer, guard) = builder.finish(counting);
    let _ = dropped.set(writer.error_counter());
    (writer, Flush(Some(guard)))
}

/// Says in the log how many lines are missing from it since the start, once it is read again.
struct Counting<W> {
    out: W,
    dropped: Arc<OnceLock<ErrorCounter>>,
    told: usize,
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    /// Called whenever no line waits: there is room for one more.
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()?;
        let lines = self.dropped.get().map_or(0, ErrorCounter::dropped_lines);
        if lines > self.told {
            self.told = lines;
            tracing::warn!(lines, "log lines were dropped because nobody read them in time");
        }
        Ok(())
    }
}
