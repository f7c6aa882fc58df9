//! Ends a run at its deadline, whatever it is waiting for.

use std::pin::pin;

use futures::{Stream, StreamExt as _};
use tokio::time::{Instant, timeout_at};

use super::RunnerError;

/// `events` until `deadline`, then one [`RunnerError::DeadlineExceeded`]; what `events` was doing is dropped.
pub(super) fn until<T>(
    deadline: Instant,
    events: impl Stream<Item = Result<T, RunnerError>>,
) -> impl Stream<Item = Result<T, RunnerError>> {
    async_stream::try_stream! {
        let mut events = pin!(events);
        while let Some(event) = timeout_at(deadline, events.next()).await.map_err(|_| RunnerError::DeadlineExceeded)? {
            yield event?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::stream;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_run_that_waits_too_long_ends_with_one_error() {
        let deadline = Instant::now() + Duration::from_secs(5);
        let events = stream::iter([Ok(1)]).chain(stream::pending());
        let seen: Vec<_> = until(deadline, events).collect().await;
        assert!(matches!(seen[..], [Ok(1), Err(RunnerError::DeadlineExceeded)]), "{seen:?}");
        assert_eq!(Instant::now(), deadline);
    }

    #[tokio::test(start_paused = true)]
    async fn a_run_that_ends_in_time_is_passed_on_as_it_is() {
        let deadline = Instant::now() + Duration::from_secs(5);
        let events = stream::iter([Ok(1), Err(RunnerError::Refused("no".to_owned()))]);
        let seen: Vec<_> = until(deadline, events).collect().await;
        assert!(matches!(seen[..], [Ok(1), Err(RunnerError::Refused(_))]), "{seen:?}");
    }
}
