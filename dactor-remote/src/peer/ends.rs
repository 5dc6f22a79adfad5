//! How a connection, a node and a quarantine end.

use std::sync::PoisonError;

use dactor_core::spi::far_paths;
use dactor_core::{ErrorKind, Result, StopReason};
use tokio::time::Instant;

use super::{Peer, parts_of};
use crate::authority::{Change, Input};
use crate::events::NodeEvent;

impl Peer {
    /// Drops the connection with this number. A lost connection ends no actor.
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

    /// Stops the delivery of frames from this connection, and waits for the frame that is being delivered.
    fn stop_receiving(&self, number: u64) {
        let mut inbound = self.lock_inbound();
        if inbound.number == number {
            inbound.reset(0);
        }
        drop(inbound);
        drop(self.decoding.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The other node has left.
    pub(super) fn said_bye(&self, number: u64) {
        let left = self.leave();
        self.connection_lost(number);
        self.left(left);
    }

    /// Closes the connection, as if the other node had left.
    pub(crate) fn disconnect(&self) {
        let left = self.leave();
        let number = self.lock().connection.as_ref().map(|connection| connection.number);
        if let Some(number) = number {
            self.connection_lost(number);
        }
        self.left(left);
    }

    /// It is not connected to again, unless something wants it. The incarnation that leaves.
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

    /// The node was not reached for too long.
    pub(super) fn quarantine_unreachable(&self) {
        if self.quarantine().is_err() {
            // It was never reached: there is no incarnation to be given up.
            let expired = self.lock().authority.take_expired(|_| true);
            self.drop_deferred(expired, &self.error_of(ErrorKind::Unresolved));
            self.left(None);
        }
    }

    /// Gives up this incarnation of the node: no frame is sent to it or delivered from it, and *then* its
    /// watched actors have ended.
    ///
    /// # Errors
    ///
    /// [`Unresolved`](ErrorKind::Unresolved) for a node that was never reached.
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

    /// The UIDs of its actors that were shown to this node are not used for others.
    pub(super) fn reserve_known(&self) {
        let Some(node) = self.node() else { return };
        if let Ok(parts) = parts_of(node.system.name(), &self.id) {
            node.reserve(&far_paths(&node.system, &parts));
        }
    }

    /// Ends the quarantine if it is over, or if the user says so.
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
        // The association is a new one, as far as this node is concerned.
        state.incarnation = None;
        state.established = 0;
        drop(state);
        self.publish(&NodeEvent::Lifted { node: self.id.clone() });
    }
}
