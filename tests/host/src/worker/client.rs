//! The HTTP/1.1 client of one handler, and the readiness probe that uses it.

use std::{error::Error, io, time::Duration};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, Error as ClientError, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use tokio::time::{sleep, timeout};

use crate::http_types::{Body, empty};

const PROBE_INTERVAL: Duration = Duration::from_millis(25);

/// Requests to `127.0.0.1:{port}`, over connections that are kept alive.
#[derive(Clone, Debug)]
pub(crate) struct HandlerClient {
    client: Client<HttpConnector, Body>,
    port: u16,
}

/// How the readiness probe ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    Ready,
    TimedOut,
}

impl HandlerClient {
    pub(crate) fn new(port: u16) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector);
        Self { client, port }
    }

    /// `127.0.0.1:{port}`: an IPv4 literal, so a handler that listens on IPv6 only is never reached.
    pub(crate) fn authority(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Response<Incoming>, ClientError> {
        self.client.request(request).await
    }

    /// Polls `GET /` until something answers. Any status is ready, and so is any failure but a refused connection.
    /// `budget` counts the pauses between polls only; `request_timeout` bounds a poll that is accepted but not
    /// answered.
    pub(crate) async fn probe(&self, budget: Duration, request_timeout: Duration) -> Probe {
        let mut paused = Duration::ZERO;
        while paused < budget {
            let mut request = Request::new(empty());
            match format!("http://{}/", self.authority()).parse() {
                Ok(uri) => *request.uri_mut() = uri,
                Err(_) => return Probe::TimedOut,
            }
            match timeout(request_timeout, self.send(request)).await {
                Err(_) => return Probe::TimedOut,
                Ok(Err(error)) if is_refused(&error) => {}
                Ok(_) => return Probe::Ready,
            }
            sleep(PROBE_INTERVAL).await;
            paused += PROBE_INTERVAL;
        }
        Probe::TimedOut
    }
}

fn is_refused(error: &ClientError) -> bool {
    let mut source = error.source();
    while let Some(cause) = source {
        if cause.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused) {
            return true;
        }
        source = cause.source();
    }
    false
}
