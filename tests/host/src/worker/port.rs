//! The port of a handler, kept free for it as long as the host runs.

use std::{io, net::SocketAddr};

use tokio::net::TcpSocket;

/// A port of 127.0.0.1 that nobody but the handler gets. The socket is bound but never listens: the system gives its
/// port to no outgoing connection and to no other search for a free port, a connection to it is refused, and a handler
/// that binds with `SO_REUSEADDR`, as servers on Linux do, can listen beside it, start after start.
#[derive(Debug)]
pub(crate) struct HandlerPort {
    number: u16,
    _socket: TcpSocket,
}

impl HandlerPort {
    /// Reserves `port`, or any free one.
    pub(crate) fn reserve(port: Option<u16>) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        let fixed = port.is_some();
        // A fixed port may still be in the last state of old connections. A free one must be nobody else's, so the
        // permission to share is given only once it is taken.
        socket.set_reuseaddr(fixed)?;
        socket.bind(SocketAddr::from(([127, 0, 0, 1], port.unwrap_or(0))))?;
        socket.set_reuseaddr(true)?;
        Ok(Self { number: socket.local_addr()?.port(), _socket: socket })
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_reserved_port_refuses_connections_until_the_handler_listens_again_and_again() {
        let port = HandlerPort::reserve(None).unwrap();
        let address = ("127.0.0.1", port.number());
        for _ in 0..3 {
            assert_eq!(TcpStream::connect(address).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
            let listener = TcpListener::bind(address).unwrap();
            let client = TcpStream::connect(address).unwrap();
            // Closed by the server first, so that the connection lingers in the system.
            drop(listener.accept().unwrap());
            drop(listener);
            drop(client);
        }
    }

    #[test]
    fn reserved_ports_differ() {
        let ports: Vec<_> = (0..50).map(|_| HandlerPort::reserve(None).unwrap()).collect();
        let numbers: std::collections::BTreeSet<u16> = ports.iter().map(HandlerPort::number).collect();
        assert_eq!(numbers.len(), ports.len());
    }
}
