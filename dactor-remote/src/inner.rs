//! The state shared by the handles and the tasks of a node.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dactor_core::path::ActorPathParts;
use dactor_core::wire::{HeaderDecoders, Served};
use dactor_core::{ActorPath, Error, ErrorKind, NodeId, Result, System};
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::RemotingConfig;
use crate::events::Events;
use crate::handshake::{Failed, Hello, Refusal};
use crate::peer::{Peer, Peers};
use crate::reservation::Reservations;
use crate::security::{Certificate, Security};
use crate::system_actors::Factories;
use crate::transport::Network;

pub(crate) struct Inner {
    pub(crate) system: System,
    pub(crate) id: NodeId,
    pub(crate) parts: ActorPathParts,
    pub(crate) config: RemotingConfig,
    pub(crate) application: String,
    pub(crate) allow_control: bool,
    pub(crate) network: Arc<dyn Network>,
    pub(crate) security: Security,
    pub(crate) served: Served,
    pub(crate) headers: HeaderDecoders,
    pub(crate) events: Events,
    pub(crate) factories: Factories,
    pub(crate) runtime: Handle,
    pub(crate) closed: CancellationToken,
    pub(crate) began: Instant,
    pub(crate) peers: Mutex<Peers>,
    pub(crate) reservations: Mutex<Reservations>,
    /// Whether any UID is reserved: a fast path, since usually none is.
    pub(crate) has_reservations: AtomicBool,
}

impl Inner {
    pub(crate) fn milliseconds(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn lock_peers(&self) -> MutexGuard<'_, Peers> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_reservations(&self) -> MutexGuard<'_, Reservations> {
        self.reservations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn known(&self, id: &NodeId) -> Option<Arc<Peer>> {
        self.lock_peers().get(id).cloned()
    }

    pub(crate) fn sorted_peers(&self) -> Vec<Arc<Peer>> {
        let mut peers: Vec<_> = self.lock_peers().values().cloned().collect();
        peers.sort_unstable_by(|one, other| one.id().cmp(other.id()));
        peers
    }

    /// Returns the peer with this address, or adds it.
    pub(crate) fn peer(self: &Arc<Self>, id: &NodeId) -> Result<Arc<Peer>> {
        if *id == self.id {
            let error = Error::new(ErrorKind::Unresolved).with("node", id);
            return Err(error.with("because", "it is the address of this node"));
        }
        let mut peers = self.lock_peers();
        Ok(peers.entry(id.clone()).or_insert_with(|| Peer::new(self, id.clone())).clone())
    }

    /// The peer of a path's address.
    pub(crate) fn peer_of(self: &Arc<Self>, path: &ActorPath) -> Result<Arc<Peer>> {
        let error = |why: &str| {
            let error = Error::new(ErrorKind::Unresolved).with("actor", path.to_serialization_format());
            error.with("because", why)
        };
        if path.system() != self.system.name() {
            return Err(error("it is of another namespace").with("namespace", self.system.name()));
        }
        let id = self.node_of(path).ok_or_else(|| error("it has no address"))?;
        self.peer(&id)
    }

    fn node_of(&self, path: &ActorPath) -> Option<NodeId> {
        NodeId::new(path.host()?, path.port()?).ok()
    }

    /// The path by which other nodes reach an actor of this node. A path of another node is returned as it
    /// is.
    pub(crate) fn external(&self, path: &ActorPath) -> Result<ActorPath> {
        if !path.is_in(self.system.parts()) || path.is_in(&self.parts) && path.host().is_some() {
            return Ok(path.clone());
        }
        path.in_system(&self.parts).map_err(|error| Error::new(ErrorKind::InvalidPath).because(error))
    }

    /// The local form of a path with the address of this node; `None` for another node's path.
    pub(crate) fn local(&self, path: &ActorPath) -> Option<Result<ActorPath>> {
        if path.is_in(self.system.parts()) {
            return Some(Ok(path.clone()));
        }
        if path.system() != self.system.name() || self.node_of(path).as_ref() != Some(&self.id) {
            return None;
        }
        let local = path.in_system(self.system.parts());
        Some(local.map_err(|error| Error::new(ErrorKind::InvalidPath).because(error)))
    }

    /// The hello or welcome of this node.
    pub(crate) fn hello(&self, to: &NodeId, established: u64) -> Hello {
        Hello {
            namespace: self.system.name().to_owned(),
            node: self.id.to_string(),
            incarnation: self.system.incarnation(),
            application: self.application.clone(),
            codec: self.config.codec.name().to_owned(),
            to: to.to_string(),
            established,
            control: self.allow_control,
            max_message: self.config.max_message as u64,
            max_in_flight: self.config.max_in_flight as u64,
        }
    }

    /// Checks whether this node accepts a hello.
    pub(crate) fn check_hello(
        &self,
        hello: &Hello,
        certificate: Option<&Certificate>,
    ) -> Result<NodeId, Failed> {
        if hello.namespace != self.system.name() {
            let text = format!("{} there, {} here", hello.namespace, self.system.name());
            return Err(Failed::ours(Refusal::Namespace, text));
        }
        if hello.codec != self.config.codec.name() {
            let text = format!("{} there, {} here", hello.codec, self.config.codec.name());
            return Err(Failed::ours(Refusal::Codec, text));
        }
        let malformed = |_| Failed::ours(Refusal::Malformed, "its address is not valid");
        let id: NodeId = hello.node.parse().map_err(malformed)?;
        if id == self.id || hello.to != self.id.as_str() {
            return Err(Failed::ours(
                Refusal::WrongNode,
                format!("{} was meant, this is {}", hello.to, self.id),
            ));
        }
        if let Some(certificate) = certificate {
            certificate.check(&id).map_err(|why| Failed::ours(Refusal::Certificate, why))?;
        }
        Ok(id)
    }

    pub(crate) fn reserve(&self, paths: &[ActorPath]) {
        let (now, mut reservations) = (Instant::now(), self.lock_reservations());
        paths.iter().for_each(|path| reservations.reserve(path, now));
        self.has_reservations.store(!reservations.is_empty(), Ordering::Relaxed);
    }

    pub(crate) fn is_reserved(&self, path: &ActorPath) -> bool {
        self.has_reservations.load(Ordering::Relaxed)
            && self.lock_reservations().is_reserved(path, Instant::now())
    }

    pub(crate) fn check_reservation(&self, path: &ActorPath) -> Result<()> {
        if self.is_reserved(path) {
            return Err(Error::new(ErrorKind::UidReserved).with("actor", path.to_serialization_format()));
        }
        Ok(())
    }

    pub(crate) fn expire_reservations(&self) {
        self.lock_reservations().expire(Instant::now());
    }

    pub(crate) async fn say_bye(&self) {
        let peers = self.sorted_peers();
        peers.iter().for_each(|peer| peer.say_bye());
        // Until the goodbye is written, or the timeout passes.
        let deadline = Instant::now() + self.config.handshake_timeout.min(std::time::Duration::from_secs(1));
        while peers.iter().any(|peer| peer.is_writing()) && Instant::now() < deadline {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
}
