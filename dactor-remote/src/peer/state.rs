//! The mutable state of a peer, under one lock.

use dactor_core::wire::association::Lane;
use dactor_core::{Error, Result};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::authority::Authority;
use crate::config::RemotingConfig;
use crate::connection::outbox::Outbox;

pub(crate) struct PeerState {
    pub(super) authority: Authority<Deferred>,
    /// The last connected incarnation.
    pub(super) incarnation: Option<u64>,
    /// The quarantined incarnation.
    pub(super) quarantined: Option<u64>,
    pub(super) application: String,
    /// Whether this incarnation has joined and not left.
    pub(super) joined: bool,
    pub(super) connection: Option<Connection>,
    /// The number of the last connection.
    pub(super) numbers: u64,
    /// The number of connections so far with this incarnation.
    pub(super) established: u64,
    /// Whether the connecting task is running.
    pub(super) dialing: bool,
    /// Whether a connection of the other node is being accepted.
    pub(super) accepting: bool,
    /// Tasks waiting for the connection.
    pub(super) waiters: Vec<oneshot::Sender<Result<(), Error>>>,
    pub(super) out: Outbox,
    /// The number of frames queued for sending.
    pub(super) sent: u64,
    /// When the connection was lost.
    pub(super) down_since: Option<Instant>,
    /// The limits of the other node, from the handshake.
    pub(super) limits: Limits,
}

/// The limits of another node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) message: usize,
    pub(super) in_flight: usize,
    pub(super) control: bool,
}

/// The connection in use.
pub(super) struct Connection {
    pub(super) number: u64,
    pub(super) close: CancellationToken,
}

/// A frame deferred until the node is connected.
pub(crate) struct Deferred {
    pub(super) frame: Vec<u8>,
    pub(super) lane: Lane,
    pub(super) deadline: Option<Instant>,
}

impl PeerState {
    pub(super) fn new(config: &RemotingConfig) -> Self {
        Self {
            authority: Authority::new(config.deferred),
            incarnation: None,
            quarantined: None,
            application: String::new(),
            joined: false,
            connection: None,
            numbers: 0,
            established: 0,
            dialing: false,
            accepting: false,
            waiters: Vec::new(),
            out: Outbox::default(),
            sent: 0,
            down_since: None,
            limits: Limits {
                message: config.max_message,
                in_flight: config.max_in_flight,
                // Known after the handshake.
                control: true,
            },
        }
    }

    pub(super) fn take_expired(&mut self, now: Instant) -> Vec<Deferred> {
        if !self.authority.has_deferred() {
            return Vec::new();
        }
        self.authority.take_expired(|deferred| deferred.deadline.is_some_and(|deadline| deadline <= now))
    }

    /// Completes all tasks waiting for the connection.
    pub(super) fn answer_waiters(&mut self, answer: &Result<(), Error>) {
        for waiter in self.waiters.drain(..) {
            let _ = waiter.send(answer.clone());
        }
    }
}
