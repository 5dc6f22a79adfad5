//! Taking messages out of a mailbox, and closing it.

use std::mem;
use std::task::Waker;

use super::bound::Admitted;
use super::queue::Queue;
use super::signals::{Ending, Signals};
use super::wakeup::{Phase, WakeOn};
use super::withdraw::{is_withdrawn, mark_taken, throw_away, wake_all};
use super::{Inner, Item, Mailbox};
use crate::Priority;
use crate::base::sync::MutexGuard;

/// Beyond this many slots, a queue frees memory when it becomes empty.
pub(super) const KEPT_SLOTS: usize = 256;

/// The maximum number of messages that a cell takes at once.
pub(super) const BATCH: usize = 128;

/// Where an idle cell parks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Park<'a> {
    /// Back to the runtime; the next push asks the backend for a turn.
    Native,
    /// Its future stays pending; the next push wakes this waker.
    Pending(&'a Waker),
    /// The same while reads are running.
    Reading(&'a Waker),
}

/// What [`Mailbox::take`] found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Messages, now in the caller's batch.
    Some,
    /// Nothing, and the actor has been asked to end.
    Ending,
    /// Nothing, but the cell is [called](Signals::is_called).
    Called,
    /// Nothing: the cell is parked.
    Parked,
}

impl<T: Item> Inner<T> {
    #[inline(always)]
    pub(super) fn pop(&mut self, priority: Priority) -> Option<T> {
        if self.lanes.is_some()
            && let Some(returned) = self.pop_returned(priority)
        {
            return Some(returned);
        }
        let popped = self.lane(priority).pop_front()?;
        mark_taken(&popped);
        if let Some(bound) = &mut self.bound {
            bound.pop(&popped, priority);
        }
        Some(popped)
    }

    /// Accepts no more messages, and wakes no cell.
    fn shut(&mut self) {
        (self.open, self.members) = (false, false);
        self.phase = Phase::Scheduled;
    }

    /// Takes the next message, by priority.
    #[inline(always)]
    pub(super) fn next(&mut self, lane: &mut Priority) -> Option<T> {
        let normal = !self.queue.is_empty();
        *lane = match &mut self.lanes {
            Some(lanes) => lanes.choose(normal)?,
            None => Priority::Normal,
        };
        self.pop(*lane)
    }
}

impl<T: Item> Mailbox<T> {
    /// Moves due messages into the empty `batch`, or parks the cell. Messages of other lanes than the normal
    /// one stay for [`pick`](Self::pick).
    pub(crate) fn take(&self, batch: &mut Queue<T>, park: Park<'_>) -> Taken {
        let mut inner = self.lock();
        if inner.is_empty() {
            return self.park(&mut inner, batch, park);
        }
        if !inner.is_plain() {
            // A message taken from a bounded mailbox is handled next, but housekeeping may put others before
            // it.
            if inner.bound.is_some() && self.signals().is_called() {
                return Taken::Called;
            }
            return self.take_chosen(inner, batch);
        }
        inner.queue.move_to(batch);
        batch.visit(mark_taken);
        Taken::Some
    }

    /// There is nothing to take.
    #[inline]
    pub(super) fn park(&self, inner: &mut Inner<T>, batch: &mut Queue<T>, park: Park<'_>) -> Taken {
        let signals = self.signals();
        if signals.is_called() {
            return Taken::Called;
        }
        if signals.ending() != Ending::None {
            return Taken::Ending;
        }
        if let Park::Reading(waker) = park {
            inner.wait(waker, WakeOn::Reads);
            return Taken::Parked;
        }
        batch.shrink_to(KEPT_SLOTS);
        inner.queue.shrink_to(KEPT_SLOTS);
        if let Some(lanes) = &mut inner.lanes {
            lanes.shrink(KEPT_SLOTS);
        }
        inner.chunks = None;
        match park {
            Park::Native => inner.phase = Phase::Idle,
            Park::Pending(waker) | Park::Reading(waker) => inner.wait(waker, WakeOn::All),
        }
        Taken::Parked
    }

    /// Takes from a mailbox with a bound, priorities, more than a batch, or withdrawn messages.
    pub(super) fn take_chosen(&self, mut inner: MutexGuard<'_, Inner<T>>, batch: &mut Queue<T>) -> Taken {
        let mut garbage = Vec::new();
        if inner.bound.is_some() {
            // A bounded mailbox gives one message at a time.
            let mut lane = Priority::Normal;
            if let Some(message) = inner.next(&mut lane) {
                batch.push_back(message);
            }
            inner.sweep(&mut garbage);
            if inner.lanes.is_some() {
                self.show_lane(lane);
                inner.release_due();
            }
            let wakers = inner.admit_waiters(&mut garbage);
            drop(inner);
            wake_all(wakers);
        } else {
            inner.fill(batch, &mut garbage);
            inner.release_due();
            drop(inner);
        }
        throw_away(garbage);
        Taken::Some
    }

    /// Takes the next message when the batch has been [overtaken](Signals::overtaken): the batch is the front
    /// of the normal lane. Stores the lane in `from`.
    pub(crate) fn pick(&self, batch: &mut Queue<T>, from: &mut Signals) -> Option<T> {
        let mut garbage = Vec::new();
        let mut inner = self.lock();
        if batch.is_empty() {
            inner.fill(batch, &mut garbage);
        }
        let chosen = inner.lanes.as_mut().and_then(|lanes| lanes.choose(!batch.is_empty()));
        let lane = chosen.unwrap_or_default();
        let picked = match lane {
            // The batch was removed from its lane before.
            Priority::Normal
                if !inner.side_queues().is_some_and(|side_queues| side_queues.has_returned(lane)) =>
            {
                batch.pop_front()
            }
            _ => inner.pop(lane),
        };
        inner.sweep(&mut garbage);
        inner.release_due();
        inner.lanes.iter_mut().for_each(|lanes| lanes.settle());
        self.update_overtaken(&inner);
        drop(inner);
        throw_away(garbage);
        *from = Signals::of_lane(lane);
        picked
    }

    /// Closes for good, if nothing waits and nothing is stashed: most actors end so. `false` leaves it to
    /// [`take_rest`](Self::take_rest). It may be called again after either.
    pub(crate) fn close_if_empty(&self) -> bool {
        let mut inner = self.lock();
        let is_empty = inner.queue.is_empty() && inner.is_plain();
        if is_empty {
            inner.shut();
            inner.queue.shrink_to(0);
        }
        is_empty
    }

    /// Closes the mailbox and returns all messages that were never taken, or never admitted, with their priorities.
    pub(crate) fn take_rest(&self) -> Queue<(Priority, T)> {
        let mut garbage = Vec::new();
        let mut inner = self.lock();
        inner.shut();
        inner.release_all();
        let tail = mem::take(&mut inner.queue);
        let chunks = inner.chunks.take().into_iter().flat_map(|chunks| chunks.into_items());
        let mut rest: Queue<_> = chunks.chain(tail).map(|message| (Priority::Normal, message)).collect();
        for message in inner.lanes.take().into_iter().flat_map(|lanes| lanes.into_messages()) {
            rest.push_back(message);
        }
        let mut wakers = Vec::new();
        let line = inner.bound.iter_mut().flat_map(|bound| bound.drain_waiters());
        for Admitted { message, waker, priority } in line {
            rest.push_back((priority, message));
            wakers.extend(waker);
        }
        rest.split_off(|(_, message)| is_withdrawn(message), &mut garbage);
        rest.iter().for_each(|(_, message)| mark_taken(message));
        inner.withdrawn = 0;
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
        throw_away(garbage.into_iter().map(|(_, message)| message).collect());
        rest
    }

    /// The same without the priorities.
    #[cfg(test)]
    pub(crate) fn close(&self) -> Queue<T> {
        self.take_rest().map(|(_, message)| message).collect()
    }
}
