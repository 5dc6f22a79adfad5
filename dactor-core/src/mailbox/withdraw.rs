//! Withdrawn asks.
//!
//! A withdrawn ask counts neither for the bound nor for load shedding, and has no place in line. It is
//! removed immediately at the front of its lane, so that the first message of a lane is never withdrawn, and
//! otherwise in bulk when more than half of a mailbox is withdrawn: amortized O(1) per ask, and a mailbox
//! holds at most as many withdrawn asks as other messages.

use std::mem;
use std::task::Waker;

use smallvec::SmallVec;

use super::bound::Admitted;
use super::queue::Queue;
use super::slot::Slot;
use super::wakeup::WakeOn;
use super::{Inner, Item, Mailbox, Wakeup};
use crate::Priority;
use crate::base::panic::discard;

pub(super) const LANES: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Low];

/// Whether the asker of this item has given up.
pub(super) fn is_withdrawn<T: Item>(item: &T) -> bool {
    item.slot().is_some_and(|slot| slot.get() == Slot::Withdrawn)
}

/// The item leaves the mailbox.
#[inline]
pub(super) fn mark_taken<T: Item>(item: &T) {
    if let Some(slot) = item.slot() {
        slot.set(Slot::Taken);
    }
}

impl<T: Item> Inner<T> {
    /// The number of waiting messages that are not withdrawn, including notices.
    pub(super) fn wanted(&self) -> usize {
        self.len() - self.withdrawn as usize
    }

    /// The item in this slot was withdrawn.
    fn note_withdrawn(&mut self, slot: Slot, garbage: &mut Vec<T>) {
        match (slot, &mut self.bound) {
            (Slot::InLine, Some(bound)) => bound.note_withdrawn(garbage),
            (Slot::Held | Slot::Returned, _) => {
                if let Some(side_queues) = self.side_queues_mut() {
                    side_queues.note_withdrawn(slot, garbage);
                }
            }
            _ => {
                self.withdrawn += 1;
                self.sweep(garbage);
            }
        }
    }

    /// Removes withdrawn items: those at the front of their lane, or all if they are the majority.
    #[inline]
    pub(super) fn sweep(&mut self, garbage: &mut Vec<T>) {
        if self.withdrawn > 0 {
            self.sweep_lanes(garbage);
        }
    }

    #[cold]
    fn sweep_lanes(&mut self, garbage: &mut Vec<T>) {
        for priority in LANES {
            self.trim(priority, garbage);
        }
        if 2 * self.withdrawn as usize > self.lanes_len() {
            LANES.into_iter().for_each(|priority| self.compact(priority, garbage));
            self.withdrawn = 0;
        }
    }

    /// Removes withdrawn items at the front of a lane. Notices before them stay; with load shedding, the
    /// first message behind them counts, because its age decides.
    fn trim(&mut self, priority: Priority, garbage: &mut Vec<T>) {
        if priority == Priority::Normal
            && let Some(chunks) = &mut self.chunks
        {
            while let Some(item) = chunks.pop_front_if(is_withdrawn) {
                self.withdrawn -= 1;
                garbage.push(item);
                if let Some(side_queues) = self.lanes.as_mut().and_then(|lanes| lanes.side_queues.as_mut()) {
                    side_queues.note_removed(priority, 0);
                }
            }
            if !chunks.is_empty() {
                return;
            }
        }
        let past_notices = self.bound.as_ref().is_some_and(|bound| bound.sheds());
        while let Some(lane) = self.existing_lane(priority) {
            let first = lane.iter().position(|item| !past_notices || !item.is_notice());
            let first = first.filter(|&at| lane.iter().nth(at).is_some_and(is_withdrawn));
            let Some((at, item)) = first.and_then(|at| Some((at, lane.remove(at)?))) else { return };
            self.withdrawn -= 1;
            if let Some(side_queues) = self.side_queues_mut() {
                side_queues.note_removed(priority, at);
            }
            if let Some(bound) = &mut self.bound {
                bound.pop(&item, priority);
            }
            garbage.push(item);
        }
    }

    /// Removes withdrawn items of a whole lane.
    fn compact(&mut self, priority: Priority, garbage: &mut Vec<T>) {
        if priority == Priority::Normal
            && let Some(chunks) = self.chunks.take()
        {
            if let Some(side_queues) = self.lanes.as_mut().and_then(|lanes| lanes.side_queues.as_mut()) {
                let items = chunks.iter().chain(self.queue.iter());
                side_queues.note_compacted(priority, items.map(|item| !is_withdrawn(item)));
            }
            for item in chunks.into_items().chain(mem::take(&mut self.queue)) {
                if is_withdrawn(&item) {
                    garbage.push(item);
                } else {
                    self.put(item, Priority::Normal);
                }
            }
            return;
        }
        let Self { queue, lanes, bound, .. } = self;
        let mut side_queues = lanes.as_mut().and_then(|lanes| lanes.side_queues.take());
        let lane = match (lanes.as_mut(), priority) {
            (_, Priority::Normal) => queue,
            (Some(lanes), _) => lanes.lane(queue, priority),
            (None, _) => return,
        };
        if let Some(side_queues) = &mut side_queues {
            side_queues.note_compacted(priority, lane.iter().map(|item| !is_withdrawn(item)));
        }
        if let Some(bound) = bound {
            bound.compact(
                priority,
                lane.iter().filter(|item| !item.is_notice()).map(|item| !is_withdrawn(item)),
            );
        }
        lane.split_off(is_withdrawn, garbage);
        if let Some(lanes) = lanes {
            lanes.side_queues = side_queues;
        }
    }

    pub(super) fn existing_lane(&mut self, priority: Priority) -> Option<&mut Queue<T>> {
        (self.lanes.is_some() || priority == Priority::Normal).then(|| self.lane(priority))
    }

    /// Moves due messages into the empty `batch`, at most [`BATCH`]: withdrawn messages in a batch cannot be
    /// removed while the actor is in a handler.
    #[inline]
    pub(super) fn fill(&mut self, batch: &mut Queue<T>, garbage: &mut Vec<T>) {
        match &mut self.chunks {
            Some(chunks) if !chunks.is_empty() => chunks.take(batch),
            _ => mem::swap(&mut self.queue, batch),
        }
        if let Some(side_queues) = self.side_queues_mut() {
            side_queues.note_left(Priority::Normal, batch.len());
        }
        if self.withdrawn > 0 {
            self.sort_out(batch, garbage);
        }
        batch.visit(mark_taken);
    }

    /// Removes withdrawn items from the batch.
    #[cold]
    fn sort_out(&mut self, batch: &mut Queue<T>, garbage: &mut Vec<T>) {
        let before = garbage.len();
        batch.split_off(is_withdrawn, garbage);
        self.withdrawn -= (garbage.len() - before) as u32;
        self.sweep(garbage);
    }

    /// Admits waiting senders in FIFO order, as far as there is room. Returns their wakers.
    #[inline]
    pub(super) fn admit_waiters(&mut self, garbage: &mut Vec<T>) -> Option<SmallVec<[Waker; 1]>> {
        if self.bound.as_ref().is_some_and(|bound| bound.has_waiters()) {
            self.admit_from_line(garbage)
        } else {
            None
        }
    }

    fn admit_from_line(&mut self, garbage: &mut Vec<T>) -> Option<SmallVec<[Waker; 1]>> {
        let mut wakers = None::<SmallVec<_>>;
        while self.bound.as_ref().is_some_and(|bound| bound.has_waiters()) {
            let room = !self.is_full();
            let admitted = self.bound.as_mut().and_then(|bound| bound.admit(room, garbage));
            let Some(Admitted { message, priority, waker }) = admitted else { break };
            if let Some(slot) = message.slot() {
                slot.set(Slot::Queued);
            }
            if message.comes_last() {
                self.put_last(message);
            } else {
                self.put(message, priority);
            }
            wakers.get_or_insert_default().extend(waker);
        }
        wakers
    }
}

impl<T: Item> Mailbox<T> {
    /// Gives up an ask under the lock. `give_up` returns the slot, if the message was in this mailbox.
    pub(crate) fn withdraw(&self, give_up: &mut dyn FnMut() -> Option<Slot>) -> Wakeup {
        // Removed items are dropped after the lock is released: their destructors are user code.
        let mut garbage = Vec::new();
        let mut inner = self.lock();
        let Some(slot) = give_up() else { return Wakeup::None };
        inner.note_withdrawn(slot, &mut garbage);
        inner.release_due();
        let wakers = inner.admit_waiters(&mut garbage);
        let wakeup = if wakers.is_some() { inner.wakeup(WakeOn::All) } else { Wakeup::None };
        self.update_overtaken(&inner);
        drop(inner);
        wake_all(wakers);
        throw_away(garbage);
        wakeup
    }
}

/// Wakes the admitted senders.
#[inline]
pub(super) fn wake_all(wakers: Option<SmallVec<[Waker; 1]>>) {
    if let Some(wakers) = wakers {
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// Drops withdrawn items. Dropping a forwarded message runs user code.
#[inline]
pub(super) fn throw_away<T>(garbage: Vec<T>) {
    if garbage.capacity() == 0 {
        // Nothing to drop, but the compiler cannot tell.
        return mem::forget(garbage);
    }
    garbage.into_iter().for_each(discard);
}
