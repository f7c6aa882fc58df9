//! The listener of a plain process and of a Functions custom handler: HTTP/1.1, bounded, stopped without losing requests.

mod linger;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::Service;

use self::linger::LingeringBody;

/// Connections that are served at a time; more wait in the listener's queue.
const MAX_CONNECTIONS: usize = 1024;
/// A connection must deliver a request's headers within this time, or it is closed.
const HEADER_DEADLINE: Duration = Duration::from_secs(15);
/// Bytes of a connection's read buffer, and so of a request's headers.
const MAX_HEADER_BYTES: usize = 32 * 1024;
/// Most headers of a request.
const MAX_HEADERS: usize = 100;
/// How long requests in flight may go on after a stop was asked for.
const DRAIN: Duration = Duration::from_secs(30);
/// Pause after a failed accept: the usual cause, too many open files, does not go away at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until `stop` completes, then waits for requests in flight.
pub async fn serve<S>(listener: TcpListener, service: S, stop: impl Future<Output = ()>)
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut stop => break,
            accepted = accept(&listener, &places) => accepted,
        };
        let Some((stream, place)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let connection = http1().serve_connection(TokioIo::new(stream), hyper_service(service.clone()));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A broken connection is the peer's affair; the request log has what was answered.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!(seconds = DRAIN.as_secs(), "requests were still in flight when the time to stop was over");
    }
}

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            // Answers are small and whole; waiting to fill a segment only costs time.
            let _ = stream.set_nodelay(true);
            Some((stream, place))
        }
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            None
        }
    }
}

fn http1() -> hyper::server::conn::http1::Builder {
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_DEADLINE)
        .max_buf_size(MAX_HEADER_BYTES)
        .max_headers(MAX_HEADERS)
        .half_close(true);
    builder
}

fn hyper_service<S>(service: S) -> TowerToHyperService<tower::util::MapRequest<S, IntoAxum>>
where
    S: Service<Request<Body>>,
{
    TowerToHyperService::new(tower::util::MapRequest::new(service, into_axum as IntoAxum))
}

type IntoAxum = fn(Request<hyper::body::Incoming>) -> Request<Body>;

fn into_axum(request: Request<hyper::body::Incoming>) -> Request<Body> {
    LingeringBody::of(request)
}
