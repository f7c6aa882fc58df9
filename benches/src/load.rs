//! The load: a few connections that are kept alive, each with one request on its way at a time.

use std::net::SocketAddr;

use anyhow::{bail, ensure};
use http_body_util::BodyExt as _;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::request::{Target, body, request};

type Body = http_body_util::Full<bytes::Bytes>;

/// A load to be put on a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) target: Target,
    pub(crate) connections: usize,
    /// Contexts that each connection opens, one after the other.
    pub(crate) contexts: usize,
    /// Requests to each context.
    pub(crate) turns: usize,
    /// Keeps the contexts of two loads apart.
    pub(crate) round: usize,
}

impl Load {
    pub(crate) fn requests(&self) -> usize {
        self.connections * self.contexts * self.turns
    }

    /// Puts the load on the program at `address` and waits until all is answered, every answer a success.
    pub(crate) async fn run(self, address: SocketAddr) -> anyhow::Result<()> {
        let mut connections = JoinSet::new();
        for connection in 0..self.connections {
            connections.spawn(self.connection(address, connection));
        }
        while let Some(outcome) = connections.join_next().await {
            outcome??;
        }
        Ok(())
    }

    async fn connection(self, address: SocketAddr, connection: usize) -> anyhow::Result<()> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (mut sender, driver) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(driver);
        let host = address.to_string();
        for context in 0..self.contexts {
            let context = format!("context-{}-{connection}-{context}", self.round);
            for turn in 0..self.turns {
                let body = body(&context, &format!("{context}-message-{turn}"));
                send(&mut sender, self.target, &host, body).await?;
            }
        }
        Ok(())
    }
}

async fn send(sender: &mut SendRequest<Body>, target: Target, host: &str, body: String) -> anyhow::Result<()> {
    sender.ready().await?;
    let response = sender.send_request(request(target, host, body)?).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    ensure!(status == 200, "{target:?} answered {status}: {}", String::from_utf8_lossy(&body));
    // An answer to the message, not an error in the same envelope.
    let expected: &[u8] = if target == Target::Echo { b"\"params\":" } else { b"\"result\":{\"message\":" };
    if !body.windows(expected.len()).any(|window| window == expected) {
        bail!("{target:?} answered: {}", String::from_utf8_lossy(&body));
    }
    Ok(())
}
