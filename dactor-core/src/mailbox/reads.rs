//! What running reads need of a mailbox: messages that join them, and a way to give a message back.

use std::task::Waker;

use super::queue::Queue;
use super::signals::Signals;
use super::slot::Slot;
use super::wakeup::{Phase, WakeOn, Wakeup};
use super::withdraw::{LANES, is_withdrawn, mark_taken, throw_away, wake_all};
use super::{Inner, Item, Mailbox};
use crate::Priority;

fn joins<T: Item>(item: &T) -> bool {
    item.interleaves() && !is_withdrawn(item)
}

impl<T: Item> Inner<T> {
    /// Takes out what joins running reads, from wherever it waits.
    fn take_joining(&mut self, out: &mut Vec<T>, garbage: &mut Vec<T>) {
        let before = out.len();
        for priority in LANES {
            self.take_joining_from(priority, out);
        }
        if let Some(bound) = &mut self.bound {
            bound.split_off_asks(joins, out, garbage);
        }
        out[before..].iter().for_each(mark_taken);
    }

    fn take_joining_from(&mut self, priority: Priority, out: &mut Vec<T>) {
        let Self { queue, chunks, lanes, bound, .. } = self;
        let mut side_queues = lanes.as_mut().and_then(|lanes| lanes.side_queues.take());
        let lane = match (lanes.as_mut(), priority) {
            (_, Priority::Normal) => queue,
            (Some(lanes), _) => lanes.lane(queue, priority),
            (None, _) => return,
        };
        let chunks = chunks.as_mut().filter(|_| priority == Priority::Normal);
        if let Some(side_queues) = &mut side_queues {
            let chunked = chunks.iter().flat_map(|chunks| chunks.iter());
            side_queues.note_compacted(priority, chunked.chain(lane.iter()).map(|item| !joins(item)));
            side_queues.split_off_returned(priority, joins, out);
        }
        if let Some(bound) = bound {
            bound.compact(priority, lane.iter().filter(|item| !item.is_notice()).map(|item| !joins(item)));
        }
        if let Some(chunks) = chunks {
            chunks.split_off(joins, out);
        }
        lane.split_off(joins, out);
        if let Some(lanes) = lanes {
            lanes.side_queues = side_queues;
        }
    }
}

impl<T: Item> Mailbox<T> {
    /// A message that joins running reads was sent.
    pub(crate) fn rouse_reads(&self) -> Wakeup {
        let mut inner = self.lock();
        self.set_signals(Signals::JOINS, Signals::JOINS);
        match inner.phase {
            Phase::Waiting(_, WakeOn::Joins) => inner.wakeup(WakeOn::Joins),
            // It was woken by the message itself, or is not to be.
            _ => Wakeup::None,
        }
    }

    /// Moves what joins running reads into `joining`, from the batch and from the mailbox. When there is nothing, the waker
    /// is registered for such messages and for signals. Gives the signals as they were under the lock.
    pub(crate) fn join_or_wait(&self, batch: &mut Queue<T>, joining: &mut Vec<T>, waker: &Waker) -> Signals {
        let mut garbage = Vec::new();
        let mut inner = self.lock();
        let signals = self.signals();
        let mut wakers = None;
        if signals.may_join() {
            self.set_signals(Signals::JOINS, 0);
            batch.split_off(|item| item.interleaves(), joining);
            inner.take_joining(joining, &mut garbage);
            inner.sweep(&mut garbage);
            inner.release_due();
            wakers = inner.admit_waiters(&mut garbage);
            if wakers.is_some() {
                self.set_signals(Signals::JOINS, Signals::JOINS);
            }
            self.update_overtaken(&inner);
        }
        if joining.is_empty() {
            inner.wait(waker, WakeOn::Joins);
        }
        drop(inner);
        wake_all(wakers);
        throw_away(garbage);
        signals
    }

    /// Puts a message that was taken back in front of its lane. It takes no room.
    pub(crate) fn give_back(&self, message: T, lane: Priority) {
        let mut inner = self.lock();
        if let Some(slot) = message.slot() {
            slot.set(Slot::Returned);
        }
        inner.put_returned(message, lane);
        self.update_overtaken(&inner);
    }
}
