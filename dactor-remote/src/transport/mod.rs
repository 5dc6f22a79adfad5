//! The transport: a small trait for byte streams between nodes, and its implementations.

#[cfg(feature = "testkit")]
mod faults;
mod memory;
mod tcp;

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;

use dactor_core::NodeId;
use tokio::io::{AsyncRead, AsyncWrite};

#[cfg(feature = "testkit")]
pub use faults::{FaultyNetwork, WriteFault};
pub use memory::MemoryNetwork;
pub use tcp::TcpNetwork;

/// The future of a connect, a bind or an accept.
pub type Opening<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// A network, which opens and accepts reliable, ordered byte streams.
pub trait Network: Send + Sync + 'static {
    /// Opens a stream to the node at this address.
    fn connect<'a>(&'a self, to: &'a NodeId) -> Opening<'a, Duplex>;

    /// Listens at this address, as `host:port`; port 0 selects a free port.
    fn bind<'a>(&'a self, at: &'a str) -> Opening<'a, Box<dyn Listener>>;
}

/// Accepts streams.
pub trait Listener: Send + 'static {
    /// Accepts the next stream.
    fn accept(&mut self) -> Opening<'_, Duplex>;

    /// The local address.
    ///
    /// # Errors
    ///
    /// When the address is unknown.
    fn local_addr(&self) -> io::Result<NodeId>;
}

/// A bidirectional byte stream, split into its halves.
pub struct Duplex {
    /// The receiving half.
    pub read: Box<dyn AsyncRead + Send + Sync + Unpin>,
    /// The sending half.
    pub write: Box<dyn AsyncWrite + Send + Sync + Unpin>,
}

impl Duplex {
    /// Combines two halves.
    pub fn new(
        read: impl AsyncRead + Send + Sync + Unpin + 'static,
        write: impl AsyncWrite + Send + Sync + Unpin + 'static,
    ) -> Self {
        Self { read: Box::new(read), write: Box::new(write) }
    }
}

impl fmt::Debug for Duplex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Duplex").finish_non_exhaustive()
    }
}
