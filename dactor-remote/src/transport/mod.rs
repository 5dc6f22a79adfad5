//! How bytes travel between nodes: one small trait, and the networks that implement it.

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

/// A connect, a bind or an accept under way.
pub type Opening<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// A network: it opens and accepts streams of bytes that are reliable and in order.
pub trait Network: Send + Sync + 'static {
    /// Opens a stream to the node at this address.
    fn connect<'a>(&'a self, to: &'a NodeId) -> Opening<'a, Duplex>;

    /// Listens at this address, which is `host:port`; port 0 is any that is free.
    fn bind<'a>(&'a self, at: &'a str) -> Opening<'a, Box<dyn Listener>>;
}

/// Accepts streams.
pub trait Listener: Send + 'static {
    /// The next stream.
    fn accept(&mut self) -> Opening<'_, Duplex>;

    /// The address that it listens at.
    ///
    /// # Errors
    ///
    /// When the address is not known.
    fn local_addr(&self) -> io::Result<NodeId>;
}

/// A stream of bytes in both directions, in its two halves.
pub struct Duplex {
    /// What comes.
    pub read: Box<dyn AsyncRead + Send + Sync + Unpin>,
    /// What leaves.
    pub write: Box<dyn AsyncWrite + Send + Sync + Unpin>,
}

impl Duplex {
    /// From two halves.
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
