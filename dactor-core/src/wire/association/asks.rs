//! In-flight asks, in both directions.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::link::{Lane, lane_key};
use super::{Association, lock};
use crate::spi::FarAsk;
use crate::wire::frame::sender_of;
use crate::wire::{Body, CancelAsk, Frame, Party};
use crate::{Error, ErrorKind};

/// Keyed by correlation id. A process increments its ids, so that none is reused.
pub(super) type PendingTable = HashMap<u64, Pending, ById>;
pub(super) type IncomingTable = HashMap<u64, Incoming, ById>;

type ById = BuildHasherDefault<IdHasher>;

/// A hasher for sequential ids. The ids come from this process or from the peer, which gains nothing by
/// collisions in the table of its own asks.
#[derive(Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}

/// An in-flight ask of this system.
pub(super) struct Pending {
    pub(super) ask: Arc<dyn FarAsk>,
    /// The default timeout, for an ask without a deadline.
    due: Option<Instant>,
    /// The lane of its answer.
    pub(super) answer: u64,
}

/// An in-flight ask of the other system.
#[derive(Default)]
pub(super) struct Incoming {
    /// `None` until the message is delivered.
    pub(super) ask: Option<CancelAsk>,
    /// The lane of its answer.
    pub(super) answer: u64,
}

/// Maximum number of remembered cancels that arrived before their ask or after its reply.
const CANCELS: usize = 4096;

/// The most recent cancels without a matching ask.
#[derive(Default)]
pub(super) struct Cancelled {
    ids: HashSet<u64>,
    order: VecDeque<u64>,
}

impl Cancelled {
    pub(super) fn insert(&mut self, id: u64) {
        if self.ids.insert(id) {
            self.order.push_back(id);
        }
        if self.order.len() > CANCELS
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }

    pub(super) fn remove(&mut self, id: u64) -> bool {
        !self.ids.is_empty() && self.ids.remove(&id)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Association {
    pub(super) fn add_pending(&self, correlation: u64, ask: Arc<dyn FarAsk>, frame: &[u8]) {
        let answer = sender_of(frame).map_or(correlation, lane_key);
        let limit = self.link.ask_timeout();
        let due = ask.deadline().is_none().then(|| Instant::now() + limit);
        let sweep = due.is_some() && !self.sweeping.load(Ordering::Relaxed);
        lock(&self.pending).insert(correlation, Pending { ask, due, answer });
        if sweep {
            self.begin_sweep(limit);
        }
    }

    /// Starts the task that fails expired asks, unless it is running.
    #[cold]
    fn begin_sweep(&self, limit: Duration) {
        if self.sweeping.swap(true, Ordering::SeqCst) {
            return;
        }
        let own = self.own.clone();
        let every = (limit / 16).clamp(Duration::from_millis(1), Duration::from_millis(100));
        self.runtime.spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(own) = own.upgrade() else { return };
                if !own.sweep() {
                    return;
                }
            }
        });
    }

    /// Fails expired asks. Returns `false` when no ask is in flight; the next one restarts the task.
    fn sweep(&self) -> bool {
        let now = Instant::now();
        let mut late = Vec::new();
        let limit = self.link.ask_timeout();
        let mut pending = lock(&self.pending);
        pending.retain(|correlation, pending| match pending.due {
            // A stream has its own timeout, between frames.
            Some(due) if due <= now && self.has_streams(Party::Caller, *correlation) => {
                pending.due = Some(now + limit);
                true
            }
            Some(due) if due <= now => {
                late.push((*correlation, pending.ask.clone()));
                false
            }
            _ => true,
        });
        let goes_on = !pending.is_empty();
        if !goes_on {
            // Under the lock, so that an ask added from here on restarts the task.
            self.sweeping.store(false, Ordering::SeqCst);
        }
        drop(pending);
        late.sort_unstable_by_key(|(correlation, _)| *correlation);
        for (correlation, ask) in late {
            let error = self.link.error(ErrorKind::Timeout).with("after", format!("{limit:?}"));
            ask.fail(error.with("message", ask.message_type()));
            self.cancel_streams(Party::Caller, correlation);
            self.cancel_there(correlation);
        }
        goes_on
    }

    /// Sends a cancel for each abandoned ask.
    pub(super) fn cancel_given_up(&self) {
        let mut gone = Vec::new();
        lock(&self.pending).retain(|correlation, pending| {
            let is_gone = pending.ask.is_gone();
            if is_gone {
                gone.push(*correlation);
            }
            !is_gone
        });
        gone.sort_unstable();
        gone.into_iter().for_each(|correlation| self.cancel_there(correlation));
    }

    fn cancel_there(&self, correlation: u64) {
        self.send_frame(&Frame { correlation, body: Body::Cancel { to: Party::Callee } }, Lane::Urgent);
    }

    /// Fails an in-flight ask of this system whose frame was not sent.
    pub fn fail_ask(&self, correlation: u64, error: &Error) {
        let pending = lock(&self.pending).remove(&correlation);
        if let Some(Pending { ask, .. }) = pending {
            ask.fail(error.clone().with("message", ask.message_type()));
        }
        self.cancel_streams(Party::Caller, correlation);
    }

    /// Fails all asks of this system and cancels those of the other one, whose replies could not be sent.
    pub(super) fn fail_asks(&self, error: &Error) {
        let pending = std::mem::take(&mut *lock(&self.pending));
        let mut pending: Vec<_> = pending.into_iter().collect();
        pending.sort_unstable_by_key(|(correlation, _)| *correlation);
        for (_, Pending { ask, .. }) in pending {
            ask.fail(error.clone().with("message", ask.message_type()));
        }
        let incoming = std::mem::take(&mut *lock(&self.incoming));
        let mut incoming: Vec<_> = incoming.into_iter().collect();
        incoming.sort_unstable_by_key(|(correlation, _)| *correlation);
        incoming.into_iter().filter_map(|(_, incoming)| incoming.ask).for_each(|ask| ask.cancel());
        lock(&self.cancelled).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_cancels_are_forgotten() {
        let mut cancelled = Cancelled::default();
        for id in 0..=CANCELS as u64 {
            cancelled.insert(id);
            cancelled.insert(id);
        }
        assert!(!cancelled.remove(0), "too old");
        assert!(cancelled.remove(1) && !cancelled.remove(1));
        assert!(cancelled.remove(CANCELS as u64));
    }
}
