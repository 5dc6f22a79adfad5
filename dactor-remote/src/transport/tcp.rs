use std::io;

use dactor_core::NodeId;
use tokio::net::{TcpListener, TcpStream};

use super::{Duplex, Listener, Network, Opening};

/// A network over TCP.
#[derive(Debug, Clone, Copy, Default)]
pub struct TcpNetwork;

impl Network for TcpNetwork {
    fn connect<'a>(&'a self, to: &'a NodeId) -> Opening<'a, Duplex> {
        Box::pin(async move { halves(TcpStream::connect(to.as_str()).await?) })
    }

    fn bind<'a>(&'a self, at: &'a str) -> Opening<'a, Box<dyn Listener>> {
        Box::pin(async move { Ok(Box::new(TcpListener::bind(at).await?) as Box<dyn Listener>) })
    }
}

impl Listener for TcpListener {
    fn accept(&mut self) -> Opening<'_, Duplex> {
        Box::pin(async move {
            let (stream, _) = TcpListener::accept(self).await?;
            halves(stream)
        })
    }

    fn local_addr(&self) -> io::Result<NodeId> {
        TcpListener::local_addr(self).map(NodeId::from)
    }
}

fn halves(stream: TcpStream) -> io::Result<Duplex> {
    // Frames are batched already: Nagle's algorithm would only delay them.
    stream.set_nodelay(true)?;
    let (read, write) = stream.into_split();
    Ok(Duplex::new(read, write))
}
