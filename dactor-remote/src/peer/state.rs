//! What changes about another node, under one lock.

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
    /// The incarnation that was reached last.
    pub(super) incarnation: Option<u64>,
    /// The incarnation that is quarantined.
    pub(super) quarantined: Option<u64>,
    pub(super) application: String,
    /// Whether this incarnation has joined and has not left.
    pub(super) joined: bool,
    pub(super) connection: Option<Connection>,
    /// Counts connections.
    pub(super) numbers: u64,
    /// How many connections there were with this incarnation.
    pub(super) established: u64,
    /// Whether a task tries to connect.
    pub(super) dialing: bool,
    /// Whether a connection of the other node is being accepted.
    pub(super) accepting: bool,
    /// Who waits for the connection.
    pub(super) waiters: Vec<oneshot::Sender<Result<(), Error>>>,
    pub(super) out: Outbox,
    /// How many frames were given to it.
    pub(super) sent: u64,
    /// Since when there is no connection.
    pub(super) down_since: Option<Instant>,
    /// What the other node said about its limits.
    pub(super) limits: Limits,
}

/// What another node takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) message: usize,
    pub(super) in_flight: usize,
    pub(super) control: bool,
}

/// A connection that is in use.
pub(super) struct Connection {
    pub(super) number: u64,
    pub(super) close: CancellationToken,
}

/// A frame that waits for a connection.
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
                // It is known when there is a connection.
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

    /// Answers all who wait for the connection.
    pub(super) fn answer_waiters(&mut self, answer: &Result<(), Error>) {
        for waiter in self.waiters.drain(..) {
            let _ = waiter.send(answer.clone());
        }
    }
}
