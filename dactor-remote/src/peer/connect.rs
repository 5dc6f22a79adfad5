//! Establishing a connection after its handshake.

use std::sync::Arc;

use dactor_core::StopReason;
use tokio_util::sync::CancellationToken;

use super::Peer;
use super::state::{Connection, Limits};
use crate::authority::{Change, Input};
use crate::connection::reader::{Buffer, ReadEnd, read};
use crate::connection::writer::write;
use crate::events::NodeEvent;
use crate::handshake::{Answer, Hello, Refusal};
use crate::inner::Inner;
use crate::transport::Duplex;

impl Peer {
    /// Decides whether to accept a connection of the other node. If so, this node does not connect until the
    /// connection is [established](Self::establish) or has [failed](Self::accept_failed).
    ///
    /// Of two simultaneous connections, the one opened by the node with the smaller address is kept.
    pub(crate) fn accept(&self, node: &Inner, hello: &Hello) -> Answer {
        let mut state = self.lock();
        let refused = |why: Refusal, text: &str| Answer::Refused(why, text.to_owned());
        if state.quarantined == Some(hello.incarnation) {
            return refused(Refusal::Quarantined, "it was given up");
        }
        let is_same = state.incarnation == Some(hello.incarnation);
        if is_same && state.connection.is_some() && hello.established < state.established {
            return refused(Refusal::Simultaneous, "there is a newer connection");
        }
        if state.accepting || (state.dialing && state.connection.is_none() && node.id < self.id) {
            return refused(Refusal::Simultaneous, "the node with the smaller address connects");
        }
        state.accepting = true;
        let established = if is_same { state.established } else { 0 };
        drop(state);
        Answer::Welcome(node.hello(&self.id, established))
    }

    /// Called when an accepted connection could not be established.
    pub(crate) fn accept_failed(&self) {
        self.lock().accepting = false;
        self.want();
    }

    /// Makes this the connection of the peer.
    pub(crate) fn establish(
        self: &Arc<Self>,
        node: &Arc<Inner>,
        hello: &Hello,
        stream: Duplex,
        buffer: Buffer,
    ) {
        let old = self.lock().connection.as_ref().map(|connection| connection.number);
        if let Some(number) = old {
            self.connection_lost(number);
        }
        self.replace_incarnation(hello.incarnation);
        self.heard.store(node.milliseconds(), std::sync::atomic::Ordering::Relaxed);
        let close = node.closed.child_token();
        let (number, joined) = {
            let mut state = self.lock();
            state.accepting = false;
            state.numbers += 1;
            let number = state.numbers;
            state.incarnation = Some(hello.incarnation);
            state.application.clone_from(&hello.application);
            state.established = state.established.max(hello.established) + 1;
            state.limits = Limits {
                message: usize::try_from(hello.max_message)
                    .unwrap_or(usize::MAX)
                    .min(node.config.max_message),
                in_flight: usize::try_from(hello.max_in_flight).unwrap_or(usize::MAX),
                control: hello.control,
            };
            state.down_since = None;
            state.out.clear();
            state.connection = Some(Connection { number, close: close.clone() });
            // Deferred frames go first: under the lock, so that no frame overtakes them.
            if let Change::Released(released) = state.authority.apply(Input::Resolved) {
                for deferred in released {
                    state.sent += 1;
                    state.out.push(&deferred.frame, deferred.lane);
                }
            }
            let joined = !std::mem::replace(&mut state.joined, true);
            state.quarantined = None;
            (number, joined)
        };
        self.lock_inbound().reset(number);
        self.association().connected();
        self.ready.notify_one();
        self.run(node, number, stream, buffer, close);
        let incarnation = hello.incarnation;
        self.publish(&NodeEvent::Connected { node: self.id.clone(), incarnation });
        if joined {
            self.publish(&NodeEvent::NodeJoined { node: self.id.clone(), incarnation });
        }
        self.lock().answer_waiters(&Ok(()));
    }

    /// Another incarnation at the same address: the previous one and all of its actors are gone.
    fn replace_incarnation(&self, incarnation: u64) {
        let mut state = self.lock();
        let Some(before) = state.incarnation.filter(|before| *before != incarnation) else { return };
        state.established = 0;
        let joined = std::mem::take(&mut state.joined);
        drop(state);
        self.reserve_known();
        self.association().end_watched(&StopReason::Unreachable);
        if joined {
            self.publish(&NodeEvent::NodeLeft { node: self.id.clone(), incarnation: before });
        }
    }

    /// Starts the reader and the writer task.
    fn run(
        self: &Arc<Self>,
        node: &Arc<Inner>,
        number: u64,
        stream: Duplex,
        buffer: Buffer,
        close: CancellationToken,
    ) {
        let Duplex { read: from, write: to } = stream;
        let (peer, closing) = (self.clone(), close.clone());
        node.runtime.spawn(async move {
            let end = tokio::select! {
                end = read(&peer, number, from, buffer) => end,
                () = closing.cancelled() => ReadEnd::Replaced,
            };
            match end {
                ReadEnd::Replaced => {}
                ReadEnd::Bye => peer.said_bye(number),
                ReadEnd::Broken(error) => {
                    tracing::debug!(node = %peer.id, %error, "connection lost");
                    peer.connection_lost(number);
                }
                ReadEnd::Invalid(why) => {
                    tracing::warn!(node = %peer.id, why, "protocol violation: closing the connection");
                    peer.connection_lost(number);
                }
            }
        });
        let peer = self.clone();
        node.runtime.spawn(async move {
            let written = tokio::select! {
                written = write(&peer, number, to) => written,
                () = close.cancelled() => Ok(()),
            };
            if let Err(error) = written {
                tracing::debug!(node = %peer.id, %error, "connection lost");
                peer.connection_lost(number);
            }
        });
    }
}
