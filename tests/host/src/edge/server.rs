//! The listeners: one that takes the copies in turn and one for each copy alone.

use std::{io, net::SocketAddr, sync::Arc};

use http::{Request, StatusCode};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::timeout,
};

use super::{front_end::IdleCut, pipeline};
use crate::{
    app::App,
    dispatch::Origin,
    http_types::{Reply, bare},
};

/// Which copy answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// Each request goes to the next copy that still runs.
    RoundRobin,
    /// Always this one.
    Only(usize),
}

/// Accepts connections until dropped.
pub(crate) async fn serve(listener: TcpListener, app: Arc<App>, target: Target) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((stream, remote)) = accepted {
                connections.spawn(serve_connection(stream, remote, Arc::clone(&app), target));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve_connection(stream: TcpStream, remote: SocketAddr, app: Arc<App>, target: Target) {
    // Without it, small frames of a stream wait for the client's acknowledgement.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let service = service_fn(|request| {
        let app = Arc::clone(&app);
        async move { answer(&app, target, remote, request).await }
    });
    // An error is the end of this connection, and the client sees that itself.
    let _ = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service).await;
}

/// Answers, or fails to have the connection closed without an answer.
async fn answer(
    app: &Arc<App>,
    target: Target,
    remote: SocketAddr,
    mut request: Request<Incoming>,
) -> Result<Reply, IdleCut> {
    let copy = match target {
        Target::RoundRobin => app.next_copy(),
        Target::Only(index) => app.copies.get(index),
    };
    let Some(copy) = copy else { return Ok(bare(StatusCode::SERVICE_UNAVAILABLE)) };
    if let Some(easy_auth) = &app.easy_auth {
        easy_auth.apply(request.headers_mut());
    }
    let Some(front_end) = &app.front_end else {
        let origin = Origin { remote, scheme: "http" };
        return Ok(pipeline::answer(app, copy, origin, request).await);
    };
    front_end.apply(&mut request);
    let origin = Origin { remote, scheme: "https" };
    let reply = timeout(front_end.idle_cut, pipeline::answer(app, copy, origin, request)).await;
    Ok(reply.map_err(|_| IdleCut)?.map(|body| front_end.watch(body)))
}

/// Binds a loopback listener; port 0 means any free one.
pub(crate) async fn bind(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind(("127.0.0.1", port)).await
}
