//! Sends frames to another node, defers them until it is connected, or refuses them.

use std::cell::RefCell;
use std::time::Duration;

use dactor_core::spi::{lost, unhandled};
use dactor_core::wire::association::{Lane, Link};
use dactor_core::wire::{Body, Frame, Target, WantedRef};
use dactor_core::{ActorPath, Codec, End, Error, ErrorKind, Result};
use tokio::time::Instant;

use super::Peer;
use super::state::Deferred;
use crate::authority::AuthorityState;
use crate::events::NodeEvent;

thread_local! {
    /// A reused buffer: a frame is encoded outside of all locks, then copied into the send queue.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A larger buffer is not reused.
const KEPT: usize = 64 * 1024;

impl Link for Peer {
    fn admit(&self, target: &ActorPath) -> Result<()> {
        let refused = |error: Error| Err(unhandled(error.with("actor", target)));
        let Some(node) = self.node() else { return refused(self.error_of(ErrorKind::Disconnected)) };
        if node.is_reserved(target) {
            return refused(self.error_of(ErrorKind::UidReserved));
        }
        let state = self.lock();
        let why = match state.authority.state() {
            AuthorityState::Connected => {
                let limit = state.limits.in_flight;
                drop(state);
                if self.association().pending() < limit {
                    return Ok(());
                }
                self.error_of(ErrorKind::Overloaded).with("asks under way", limit)
            }
            AuthorityState::Unresolved if state.authority.has_room() => return Ok(()),
            AuthorityState::Unresolved => self
                .error_of(ErrorKind::Unresolved)
                .with("because", "as many messages as may wait for a connection do"),
            AuthorityState::Quarantined { .. } => {
                drop(state);
                self.publish(&NodeEvent::InvalidAssociation { node: self.id.clone(), actor: target.clone() });
                self.error_of(ErrorKind::Quarantined)
            }
        };
        refused(why)
    }

    fn admit_watch(&self, target: &ActorPath) -> Result<()> {
        let is_quarantined = matches!(self.lock().authority.state(), AuthorityState::Quarantined { .. });
        if is_quarantined {
            return Err(self.error_of(ErrorKind::Quarantined).with("actor", target));
        }
        self.want();
        Ok(())
    }

    fn admit_end(&self, target: &ActorPath, how: End) -> Result<()> {
        if self.lock().limits.control {
            return Ok(());
        }
        let error = self.error_of(ErrorKind::Unsupported).with("actor", target).with("call", how.as_str());
        Err(error.with("because", "the other node lets no other one end its actors"))
    }

    fn obey_end(&self, target: &ActorPath, how: End) -> Result<()> {
        if self.node().is_some_and(|node| node.allow_control) {
            return Ok(());
        }
        let error = Error::new(ErrorKind::Unsupported).with("actor", target).with("call", how.as_str());
        Err(error.with("node", &self.id).with("because", "this node lets no other one end its actors"))
    }

    fn is_up(&self) -> bool {
        self.lock().authority.state() == AuthorityState::Connected
    }

    fn codec(&self) -> Codec {
        self.codec
    }

    fn ask_timeout(&self) -> Duration {
        self.ask_timeout
    }

    /// At least 30 seconds: three keep-alives of a node with a different configuration.
    fn stream_timeout(&self) -> Duration {
        self.ask_timeout().max(Duration::from_secs(30))
    }

    fn buffer(&self) -> Vec<u8> {
        BUFFER.try_with(RefCell::take).unwrap_or_default()
    }

    fn fits(&self, bytes: usize) -> Result<()> {
        let Some(node) = self.node() else { return Err(self.error_of(ErrorKind::Disconnected)) };
        let (message, waiting) = {
            let state = self.lock();
            (state.limits.message, state.out.bytes())
        };
        if bytes > message {
            let error = self.error_of(ErrorKind::EncodeFailed).with("bytes", bytes).with("limit", message);
            return Err(error.with("because", "it is larger than the largest message"));
        }
        if waiting + bytes > node.config.max_outbound {
            let error = self.error_of(ErrorKind::Overloaded).with("bytes", waiting);
            return Err(error.with("because", "the other node does not read as fast as it is written to"));
        }
        Ok(())
    }

    fn send(&self, frame: Vec<u8>, lane: Lane) -> Result<()> {
        let mut state = self.lock();
        if state.authority.state() == AuthorityState::Connected {
            state.sent += 1;
            let wake = state.out.push(&frame, lane);
            drop(state);
            if wake {
                self.ready.notify_one();
            }
            give_back(frame);
            return Ok(());
        }
        drop(state);
        self.defer(frame, lane)
    }

    fn error(&self, kind: ErrorKind) -> Error {
        self.error_of(kind)
    }

    fn path_of(&self, path: &ActorPath) -> Result<ActorPath> {
        match self.node() {
            Some(node) => node.external(path),
            None => Err(self.error_of(ErrorKind::Disconnected)),
        }
    }

    fn local(&self, path: &ActorPath) -> Option<Result<ActorPath>> {
        self.node().and_then(|node| node.local(path))
    }

    fn resolve(&self, path: &ActorPath, wanted: &mut dyn WantedRef) -> Result<()> {
        let Some(node) = self.node() else { return Err(self.error_of(ErrorKind::Disconnected)) };
        let peer = node.peer_of(path).inspect_err(|_| {
            node.events.publish(&NodeEvent::PathRefused { path: path.to_serialization_format() });
        })?;
        wanted.far(&node.system, path, &peer.association().carrier())
    }
}

fn give_back(mut frame: Vec<u8>) {
    if frame.capacity() <= KEPT {
        frame.clear();
        let _ = BUFFER.try_with(|kept| kept.replace(frame));
    }
}

impl Peer {
    /// Defers a frame until the node is connected. Drops frames that are tied to the last connection.
    fn defer(&self, frame: Vec<u8>, lane: Lane) -> Result<()> {
        let Ok(Frame { body, .. }) = Frame::decode(&frame) else { return Ok(()) };
        let Some(call) = body.call() else { return Ok(()) };
        let deadline = call.time_left.map(|left| Instant::now() + left);
        let refused = self.lock().authority.defer(Deferred { frame, lane, deadline });
        let Err(Deferred { frame, .. }) = refused else {
            self.want();
            return Ok(());
        };
        // Connected in the meantime?
        let mut state = self.lock();
        if state.authority.state() == AuthorityState::Connected {
            drop(state);
            return self.send(frame, lane);
        }
        let kind = match state.authority.state() {
            AuthorityState::Quarantined { .. } => ErrorKind::Quarantined,
            _ => ErrorKind::Unresolved,
        };
        state.sent += 1;
        drop(state);
        let error = unhandled(self.error_of(kind));
        self.lose(&frame, &error);
        Err(error)
    }

    /// Drops deferred frames.
    pub(super) fn drop_deferred(&self, deferred: Vec<Deferred>, error: &Error) {
        let error = unhandled(error.clone());
        for Deferred { frame, .. } in deferred {
            if let Ok(Frame { correlation, body: Body::Request(_) | Body::Open(..) }) = Frame::decode(&frame)
            {
                self.association().fail_ask(correlation, &error);
            }
            self.lose(&frame, &error);
        }
    }

    /// Publishes an unsent tell as a dead letter. An ask is answered elsewhere.
    fn lose(&self, frame: &[u8], error: &Error) {
        let Ok(Frame { body: Body::OneWay(call), .. }) = Frame::decode(frame) else { return };
        let Target::Path { path, .. } = call.target else { return };
        if let (Some(node), Ok(path)) =
            (self.node(), dactor_core::path::ActorPathParser::parse_generated(path))
        {
            lost(&node.system, &path, &error.clone().with("wire name", call.name));
        }
    }
}
