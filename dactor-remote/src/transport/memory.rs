use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use dactor_core::NodeId;
use tokio::io::{duplex, split};
use tokio::sync::mpsc;

use super::{Duplex, Listener, Network, Opening};

/// The buffer size of each direction of a stream.
const BUFFER: usize = 64 * 1024;

/// The first port assigned for port 0.
const FIRST_PORT: u16 = 20_000;

/// An in-process network, for tests. Clones share the network; any host name or address is valid.
#[derive(Clone, Default)]
pub struct MemoryNetwork(Arc<Mutex<Bound>>);

#[derive(Default)]
struct Bound {
    listeners: HashMap<NodeId, mpsc::UnboundedSender<Duplex>>,
    ports: u16,
}

impl MemoryNetwork {
    /// An empty network.
    pub fn new() -> Self {
        Self::default()
    }

    fn open(&self, to: &NodeId) -> io::Result<Duplex> {
        let bound = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let listener = bound.listeners.get(to).ok_or(io::ErrorKind::ConnectionRefused)?;
        let (here, there) = duplex(BUFFER);
        let [here, there] = [here, there].map(|stream| {
            let (read, write) = split(stream);
            Duplex::new(read, write)
        });
        listener.send(there).map_err(|_| io::ErrorKind::ConnectionRefused)?;
        Ok(here)
    }

    fn listen(&self, at: &str) -> io::Result<MemoryListener> {
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
        let wanted: NodeId = at.parse().map_err(invalid)?;
        let mut bound = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = match wanted.port() {
            0 => {
                bound.ports += 1;
                NodeId::new(wanted.host(), FIRST_PORT + bound.ports).map_err(invalid)?
            }
            _ => wanted,
        };
        // The address of a dropped listener is free.
        if bound.listeners.get(&at).is_some_and(|listener| !listener.is_closed()) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let (sender, incoming) = mpsc::unbounded_channel();
        bound.listeners.insert(at.clone(), sender);
        Ok(MemoryListener { at, incoming })
    }
}

impl Network for MemoryNetwork {
    fn connect<'a>(&'a self, to: &'a NodeId) -> Opening<'a, Duplex> {
        Box::pin(async move { self.open(to) })
    }

    fn bind<'a>(&'a self, at: &'a str) -> Opening<'a, Box<dyn Listener>> {
        Box::pin(async move { Ok(Box::new(self.listen(at)?) as Box<dyn Listener>) })
    }
}

impl fmt::Debug for MemoryNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryNetwork").finish_non_exhaustive()
    }
}

struct MemoryListener {
    at: NodeId,
    incoming: mpsc::UnboundedReceiver<Duplex>,
}

impl Listener for MemoryListener {
    fn accept(&mut self) -> Opening<'_, Duplex> {
        Box::pin(async move { self.incoming.recv().await.ok_or(io::ErrorKind::NotConnected.into()) })
    }

    fn local_addr(&self) -> io::Result<NodeId> {
        Ok(self.at.clone())
    }
}
