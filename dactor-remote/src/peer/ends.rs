//! The end of a connection, a node and a quarantine.

use std::sync::PoisonError;

use dactor_core::spi::far_paths;
use dactor_core::{ErrorKind, Result, StopReason};
use tokio::time::Instant;

use super::{Peer, parts_of};
use crate::authority::{Change, Input};
use crate::events::NodeEvent;

impl Peer {
    /// Drops the connection with this number. A lost connection terminates no actor.
    pub(crate) fn connection_lost(&self, number: u64) {
        self.stop_receiving(number);
        let (unwritten, is_unresolved) = {
            let mut state = self.lock();
            if state.connection.as_ref().is_none_or(|connection| connection.number != number) {
                return;
            }
            if let Some(connection) = state.connection.take() {
                connection.close.cancel();
            }
            state.down_since = Some(Instant::now());
            let change = state.authority.apply(Input::TransportDropped);
            (state.out.clear(), matches!(change, Change::To(_)))
        };
        self.association().disconnected();
        let node = || self.id.clone();
        self.publish(&NodeEvent::Gap { node: node(), unwritten });
        if is_unresolved {
            self.publish(&NodeEvent::Unresolved { node: node() });
        }
        if self.is_wanted() {
            self.want();
        }
    }

    /// Stops delivering frames of this connection, and waits for the frame being delivered.
    fn stop_receiving(&self, number: u64) {
        let mut inbound = self.lock_inbound();
        if inbound.number == number {
            inbound.reset(0);
        }
        drop(inbound);
        drop(self.decoding.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Handles the goodbye of the other node.
    pub(super) fn said_bye(&self, number: u64) {
        let left = self.leave();
        self.connection_lost(number);
        self.left(left);
    }

    /// Closes the connection, as if the other node had shut down.
    pub(crate) fn disconnect(&self) {
        let left = self.leave();
        let number = self.lock().connection.as_ref().map(|connection| connection.number);
        if let Some(number) = number {
            self.connection_lost(number);
        }
        self.left(left);
    }

    /// Marks the node as left, which stops reconnecting unless a connection is needed. Returns the
    /// incarnation if it had joined.
    fn leave(&self) -> Option<u64> {
        let mut state = self.lock();
        std::mem::take(&mut state.joined).then_some(state.incarnation).flatten()
    }

    fn left(&self, incarnation: Option<u64>) {
        self.association().end_watched(&StopReason::Unreachable);
        self.lock().down_since = None;
        if let Some(incarnation) = incarnation {
            self.publish(&NodeEvent::NodeLeft { node: self.id.clone(), incarnation });
        }
    }

    /// Quarantines the node after it was unreachable for too long.
    pub(super) fn quarantine_unreachable(&self) {
        if self.quarantine().is_err() {
            // Never connected: there is no incarnation to quarantine.
            let expired = self.lock().authority.take_expired(|_| true);
            self.drop_deferred(expired, &self.error_of(ErrorKind::Unresolved));
            self.left(None);
        }
    }

    /// Quarantines this incarnation of the node: first sending and delivery stop, *then* its watched actors
    /// are reported as terminated.
    ///
    /// # Errors
    ///
    /// [`Unresolved`](ErrorKind::Unresolved) for a node that was never connected.
    pub(crate) fn quarantine(&self) -> Result<()> {
        let Some(node) = self.node() else { return Err(self.error_of(ErrorKind::Disconnected)) };
        let mut state = self.lock();
        let Some(incarnation) = state.incarnation else { return Err(self.error_of(ErrorKind::Unresolved)) };
        let number = state.connection.as_ref().map(|connection| connection.number);
        let until = Instant::now() + node.config.quarantine;
        let change = state.authority.apply(Input::Invalid { until });
        if matches!(change, Change::None) {
            return Ok(());
        }
        state.quarantined = Some(incarnation);
        let joined = std::mem::take(&mut state.joined);
        state.down_since = None;
        let error = self.error_of(ErrorKind::Quarantined);
        state.answer_waiters(&Err(error.clone()));
        drop(state);
        if let Some(number) = number {
            self.connection_lost(number);
        }
        self.lock().down_since = None;
        if let Change::Dropped(deferred) = change {
            self.drop_deferred(deferred, &error);
        }
        self.reserve_known();
        self.association().give_up(&StopReason::Unreachable);
        self.publish(&NodeEvent::Quarantined { node: self.id.clone(), incarnation });
        if joined {
            self.publish(&NodeEvent::NodeLeft { node: self.id.clone(), incarnation });
        }
        Ok(())
    }

    /// Reserves the UIDs of the node's actors that this node has seen.
    pub(super) fn reserve_known(&self) {
        let Some(node) = self.node() else { return };
        if let Ok(parts) = parts_of(node.system.name(), &self.id) {
            node.reserve(&far_paths(&node.system, &parts));
        }
    }

    /// Ends the quarantine if it has expired or the user lifts it.
    pub(crate) fn end_quarantine(&self, now: Instant, by_user: bool) {
        let input = match by_user {
            true => Input::Override { connected: false },
            false => Input::Elapsed { now },
        };
        let mut state = self.lock();
        if matches!(state.authority.apply(input), Change::None) {
            return;
        }
        state.quarantined = None;
        // From here on this is a new association.
        state.incarnation = None;
        state.established = 0;
        drop(state);
        self.publish(&NodeEvent::Lifted { node: self.id.clone() });
    }
}
