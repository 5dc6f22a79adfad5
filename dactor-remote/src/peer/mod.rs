//! A peer: the state that this node keeps about another node.

mod connect;
mod dial;
mod ends;
mod link;
mod state;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use dactor_core::path::{ActorPathParts, ActorPathScheme, PathAuthority};
use dactor_core::wire::Association;
use dactor_core::{Codec, Error, ErrorKind, NodeId, Result};
use tokio::sync::Notify;
use tokio::time::Instant;

pub(crate) use self::state::PeerState;

use crate::authority::AuthorityState;
use crate::connection::framing::kind;
use crate::connection::inbound::{Inbound, Packets, State};
use crate::events::NodeEvent;
use crate::inner::Inner;

/// Another node: its association and its connection.
pub(crate) struct Peer {
    id: NodeId,
    node: Weak<Inner>,
    association: OnceLock<Arc<Association>>,
    state: Mutex<PeerState>,
    /// Notified when the send queue is not empty.
    ready: Notify,
    /// The receiving side. Locked during delivery, so that no frame of a dropped connection is delivered
    /// later.
    inbound: Mutex<Inbound>,
    /// Locked while a large frame is decoded and delivered, for the same reason.
    decoding: Mutex<()>,
    /// When the last bytes were received, in milliseconds since the start of the node.
    heard: AtomicU64,
    received: AtomicU64,
    codec: Codec,
    ask_timeout: Duration,
}

/// A snapshot of the state of another node.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PeerStatus {
    /// The other node.
    pub node: NodeId,
    /// The state of the association.
    pub state: AuthorityState,
    /// Its incarnation, if it was ever connected.
    pub incarnation: Option<u64>,
    /// The version of its application.
    pub application: String,
    /// In-flight asks of this node.
    pub pending: usize,
    /// The number of its actors watched from here.
    pub watching: usize,
    /// The number of actors of this node that it watches.
    pub watched: usize,
    /// The size of its send queue in bytes.
    pub unwritten: usize,
    /// The number of frames queued for sending, and of frames received.
    pub frames: (u64, u64),
}

impl Peer {
    pub(crate) fn new(node: &Arc<Inner>, id: NodeId) -> Arc<Self> {
        let peer = Arc::new(Self {
            state: Mutex::new(PeerState::new(&node.config)),
            id,
            node: Arc::downgrade(node),
            association: OnceLock::new(),
            ready: Notify::new(),
            inbound: Mutex::default(),
            decoding: Mutex::default(),
            heard: AtomicU64::new(0),
            received: AtomicU64::new(0),
            codec: node.config.codec,
            ask_timeout: node.config.ask_timeout,
        });
        let association = Association::new(&node.system, peer.clone(), node.runtime.clone());
        association.set_tables(node.served.clone(), node.headers.clone());
        let _ = peer.association.set(association);
        peer
    }

    pub(crate) fn id(&self) -> &NodeId {
        &self.id
    }

    pub(crate) fn association(&self) -> &Arc<Association> {
        match self.association.get() {
            Some(association) => association,
            None => unreachable!("it is set when the peer is made"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, PeerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn node(&self) -> Option<Arc<Inner>> {
        self.node.upgrade()
    }

    fn publish(&self, event: &NodeEvent) {
        if let Some(node) = self.node() {
            node.events.publish(event);
        }
    }

    fn error_of(&self, kind: ErrorKind) -> Error {
        Error::new(kind).with("node", &self.id)
    }

    pub(crate) fn status(&self) -> PeerStatus {
        let association = self.association();
        let (pending, watching, watched) =
            (association.pending(), association.watching(), association.watched());
        let state = self.lock();
        PeerStatus {
            node: self.id.clone(),
            state: state.authority.state(),
            incarnation: state.incarnation,
            application: state.application.clone(),
            pending,
            watching,
            watched,
            unwritten: state.out.bytes(),
            frames: (state.sent, self.received.load(Ordering::Relaxed)),
        }
    }

    /// Waits until the send queue is not empty.
    pub(crate) async fn written(&self) {
        self.ready.notified().await;
    }

    /// Moves the next packets to write into `batch`; `false` when the connection was dropped.
    pub(crate) fn take_batch(&self, number: u64, batch: &mut Vec<u8>) -> bool {
        let mut state = self.lock();
        if state.connection.as_ref().is_none_or(|connection| connection.number != number) {
            // The notification was for the writer of the next connection.
            self.ready.notify_one();
            return false;
        }
        state.out.take(batch);
        if !state.out.is_empty() {
            self.ready.notify_one();
        }
        true
    }

    /// Delivers received frames. Returns how many bytes were parsed and what to do next; `None` when the
    /// connection was dropped.
    pub(crate) fn receive(self: &Arc<Self>, number: u64, bytes: &[u8]) -> Option<(usize, Result<State>)> {
        let node = self.node()?;
        let mut inbound = self.lock_inbound();
        if inbound.number != number {
            return None;
        }
        let limit = node.config.max_message;
        let association = &**self.association();
        let state = State::More(0);
        let mut packets =
            Packets { bytes, inbound: &mut inbound, association, read: 0, frames: 0, limit, state };
        let received = association.receive(&mut packets);
        let (read, frames, state) = (packets.read, packets.frames, packets.state);
        let decode = inbound.begin_decoding();
        drop(inbound);
        if decode {
            node.runtime.spawn(self.clone().decode_large());
        }
        self.received.fetch_add(frames, Ordering::Relaxed);
        self.heard.store(node.milliseconds(), Ordering::Relaxed);
        Some((read, received.map(|()| state)))
    }

    /// Decodes large frames in a separate task, so that the reader does not block.
    async fn decode_large(self: Arc<Self>) {
        while self.decode_next() {
            tokio::task::yield_now().await;
        }
    }

    /// Decodes and delivers the next large frame and the frames queued behind it; `false` when there is none.
    fn decode_next(&self) -> bool {
        let (number, next) = {
            let mut inbound = self.lock_inbound();
            (inbound.number, inbound.next_large())
        };
        let Some((lane, frame)) = next else { return false };
        let decoded = {
            let _decoding = self.decoding.lock().unwrap_or_else(PoisonError::into_inner);
            let is_current = self.lock_inbound().number == number;
            if is_current { self.association().receive([&*frame]) } else { Ok(()) }
        };
        self.received.fetch_add(1, Ordering::Relaxed);
        let delivered = {
            let mut inbound = self.lock_inbound();
            if inbound.number != number {
                return true;
            }
            // Under the lock, so that no newly received frame overtakes the queued ones.
            let behind = inbound.delivered(lane);
            decoded.and_then(|()| self.association().receive(behind.iter().map(|frame| &**frame)))
        };
        if let Err(error) = delivered {
            tracing::warn!(node = %self.id, %error, "protocol violation: closing the connection");
            self.connection_lost(number);
        }
        true
    }

    fn lock_inbound(&self) -> MutexGuard<'_, Inbound> {
        self.inbound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a heartbeat and checks for silence.
    pub(crate) fn beat(self: &Arc<Self>) {
        let Some(node) = self.node() else { return };
        let silent = node.milliseconds().saturating_sub(self.heard.load(Ordering::Relaxed));
        let mut state = self.lock();
        let Some(number) = state.connection.as_ref().map(|connection| connection.number) else {
            drop(state);
            return self.check_reachable(&node);
        };
        if u128::from(silent) > node.config.silence.as_millis() {
            drop(state);
            tracing::warn!(node = %self.id, silent, "idle timeout: closing the connection");
            return self.connection_lost(number);
        }
        if state.out.push_packet(kind::HEARTBEAT) {
            self.ready.notify_one();
        }
    }

    /// Queues a goodbye.
    pub(crate) fn say_bye(&self) {
        let mut state = self.lock();
        if state.connection.is_some() {
            state.out.push_bye();
            drop(state);
            self.ready.notify_one();
        }
    }

    /// Whether the send queue still has packets.
    pub(crate) fn is_writing(&self) -> bool {
        let state = self.lock();
        state.connection.is_some() && !state.out.is_empty()
    }

    /// Quarantines a node that was unreachable for too long, and ends expired quarantines.
    fn check_reachable(self: &Arc<Self>, node: &Arc<Inner>) {
        let now = Instant::now();
        let (dead, expired) = {
            let mut state = self.lock();
            let down_for = state.down_since.map(|since| now.saturating_duration_since(since));
            let dead = down_for.is_some_and(|down| down >= node.config.dead_after);
            (dead, state.take_expired(now))
        };
        self.drop_deferred(expired, &self.error_of(ErrorKind::Timeout));
        if dead {
            self.quarantine_unreachable();
        }
        self.end_quarantine(now, false);
    }
}

/// The address part of the paths of this node's actors.
pub(crate) fn parts_of(system: &str, id: &NodeId) -> Result<ActorPathParts> {
    let invalid = |error| Error::new(ErrorKind::InvalidPath).with("node", id).because(error);
    let authority = PathAuthority::new(id.host(), Some(id.port())).map_err(invalid)?;
    let parts = ActorPathParts::new(system).map_err(invalid)?;
    Ok(parts.with_scheme(ActorPathScheme::PekkoTcp).with_authority(authority))
}

/// The known nodes.
pub(crate) type Peers = HashMap<NodeId, Arc<Peer>>;

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").field("id", &self.id).finish_non_exhaustive()
    }
}
