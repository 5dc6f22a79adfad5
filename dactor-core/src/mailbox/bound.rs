//! The bound of a mailbox, and the senders that wait in line for room.

use std::collections::VecDeque;
use std::task::Waker;
use std::time::Duration;

use crate::mailbox::item::Item;
use crate::mailbox::overflow::Overflow;
use crate::mailbox::shed::{Shed, Shedding};
use crate::mailbox::slot::Slot;
use crate::{Error, ErrorKind, Priority, Result};

/// The limits of a mailbox: capacity, overflow policy, and load shedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) capacity: usize,
    pub(crate) overflow: Overflow,
    pub(crate) shed: Option<Shed>,
}

impl Limit {
    /// No limits.
    pub(crate) const NONE: Self = Self { capacity: usize::MAX, overflow: Overflow::Reject, shed: None };

    /// Validates the limit; `None` if it is [none](Self::NONE).
    pub(crate) fn check(self) -> Result<Option<Self>> {
        if self.capacity == 0 {
            let error = Error::new(ErrorKind::InvalidCapacity).with("capacity", 0);
            return Err(error.with("because", "the capacity must be at least one"));
        }
        self.shed.map(Shed::check).transpose()?;
        Ok((self != Self::NONE).then_some(self))
    }
}

/// A sender's place in line. Tickets are admitted in FIFO order.
pub(crate) type Ticket = u64;

#[derive(Debug)]
struct Waiter<T> {
    ticket: Ticket,
    admitted: Admitted<T>,
}

/// A message admitted from the line.
#[derive(Debug)]
pub(crate) struct Admitted<T> {
    pub(crate) message: T,
    pub(crate) priority: Priority,
    /// `None` for an ask: its asker waits for the reply anyway.
    pub(crate) waker: Option<Waker>,
}

/// The bound of one mailbox.
#[derive(Debug)]
pub(crate) struct Bound<T> {
    pub(crate) limit: Limit,
    shedding: Option<Shedding>,
    /// How many of the queued messages are notices.
    pub(crate) notices: usize,
    line: VecDeque<Waiter<T>>,
    /// How many of the waiting messages are withdrawn. The first is not.
    withdrawn: usize,
    next: Ticket,
    /// Every ticket below it was admitted, or has left.
    served: Ticket,
}

impl<T: Item> Bound<T> {
    pub(crate) fn new(limit: Limit) -> Self {
        let shedding = limit.shed.map(Shedding::new);
        Self { limit, shedding, notices: 0, line: VecDeque::new(), withdrawn: 0, next: 0, served: 0 }
    }

    /// Accounts for a message that enters the queue.
    pub(crate) fn put(&mut self, message: &T, priority: Priority) {
        if message.is_notice() {
            self.notices += 1;
        } else {
            self.shedding.iter_mut().for_each(|shedding| shedding.put(priority));
        }
    }

    /// Accounts for the oldest message of this priority, or the oldest notice, leaving the queue.
    pub(crate) fn pop(&mut self, message: &T, priority: Priority) {
        if message.is_notice() {
            self.notices -= 1;
        } else {
            self.shedding.iter_mut().for_each(|shedding| shedding.pop(priority));
        }
    }

    pub(crate) fn has_waiters(&self) -> bool {
        !self.line.is_empty()
    }

    pub(crate) fn sheds(&self) -> bool {
        self.shedding.is_some()
    }

    /// When to retry, if the mailbox sheds load now. `withdrawn` is the number of withdrawn messages.
    pub(crate) fn overload(&self, withdrawn: usize) -> Option<Duration> {
        self.shedding.as_ref().and_then(|shedding| shedding.overload(withdrawn))
    }

    /// Keeps only these messages of the lane.
    pub(crate) fn compact(&mut self, priority: Priority, kept: impl Iterator<Item = bool>) {
        if let Some(shedding) = &mut self.shedding {
            shedding.compact(priority, kept);
        }
    }

    pub(crate) fn join(&mut self, message: T, priority: Priority, waker: Option<Waker>) -> Ticket {
        let ticket = self.next;
        self.next += 1;
        if let Some(slot) = message.slot() {
            slot.set(Slot::InLine);
        }
        self.line.push_back(Waiter { ticket, admitted: Admitted { message, priority, waker } });
        ticket
    }

    /// Admits the next in line, if there is room or it needs none.
    pub(crate) fn admit(&mut self, room: bool, garbage: &mut Vec<T>) -> Option<Admitted<T>> {
        if !room && !self.line.front()?.admitted.message.is_notice() {
            return None;
        }
        let Waiter { ticket, admitted } = self.line.pop_front()?;
        self.served = ticket + 1;
        self.sweep(garbage);
        Some(admitted)
    }

    /// A message in line was withdrawn.
    pub(crate) fn note_withdrawn(&mut self, garbage: &mut Vec<T>) {
        self.withdrawn += 1;
        self.sweep(garbage);
    }

    /// Removes withdrawn messages from the line: those in front, or all if they are the majority.
    fn sweep(&mut self, garbage: &mut Vec<T>) {
        if self.withdrawn == 0 {
            return;
        }
        let is_withdrawn = |waiter: &Waiter<T>| {
            waiter.admitted.message.slot().is_some_and(|slot| slot.get() == Slot::Withdrawn)
        };
        while self.line.front().is_some_and(is_withdrawn) {
            self.withdrawn -= 1;
            garbage.extend(self.line.pop_front().map(|gone| gone.admitted.message));
        }
        if 2 * self.withdrawn > self.line.len() {
            for waiter in std::mem::take(&mut self.line) {
                if is_withdrawn(&waiter) {
                    garbage.push(waiter.admitted.message);
                } else {
                    self.line.push_back(waiter);
                }
            }
            self.withdrawn = 0;
        }
    }

    /// Whether the message of this ticket is, or was, in the queue.
    pub(crate) fn is_admitted(&self, ticket: Ticket) -> bool {
        ticket < self.served
    }

    /// Whether it still waits; then renews its waker.
    pub(crate) fn renew(&mut self, ticket: Ticket, waker: &Waker) -> bool {
        let waiter = self.position(ticket).map(|at| &mut self.line[at]);
        waiter.is_some_and(|waiter| {
            waiter.admitted.waker.get_or_insert_with(|| waker.clone()).clone_from(waker);
            true
        })
    }

    /// Leaves the line, returning the message if it was still waiting.
    pub(crate) fn leave(&mut self, ticket: Ticket, garbage: &mut Vec<T>) -> Option<T> {
        let at = self.position(ticket)?;
        let left = self.line.remove(at).map(|waiter| waiter.admitted.message);
        self.sweep(garbage);
        left
    }

    /// Takes these messages of askers out of the line.
    pub(crate) fn split_off_asks(
        &mut self,
        wanted: impl Fn(&T) -> bool,
        out: &mut Vec<T>,
        garbage: &mut Vec<T>,
    ) {
        // A sender that waits for its place has a waker, and looks for its ticket.
        let is_taken =
            |waiter: &Waiter<T>| waiter.admitted.waker.is_none() && wanted(&waiter.admitted.message);
        if !self.line.iter().any(is_taken) {
            return;
        }
        for waiter in std::mem::take(&mut self.line) {
            if is_taken(&waiter) {
                out.push(waiter.admitted.message);
            } else {
                self.line.push_back(waiter);
            }
        }
        self.sweep(garbage);
    }

    /// Empties the line.
    pub(crate) fn drain_waiters(&mut self) -> impl Iterator<Item = Admitted<T>> {
        self.withdrawn = 0;
        std::mem::take(&mut self.line).into_iter().map(|waiter| waiter.admitted)
    }

    #[cfg(test)]
    pub(crate) fn in_line(&self) -> usize {
        self.line.len()
    }

    fn position(&self, ticket: Ticket) -> Option<usize> {
        self.line.binary_search_by_key(&ticket, |waiter| waiter.ticket).ok()
    }
}
