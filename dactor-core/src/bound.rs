//! A mailbox's bound, and the senders that wait in line for room.

use std::collections::VecDeque;
use std::task::Waker;

use crate::{Error, ErrorKind, Result};

/// What happens to a message that finds a bounded mailbox full.
///
/// | | `tell` | `try_tell` | `send().await` | `ask` |
/// | --- | --- | --- | --- | --- |
/// | `Reject` | fails | fails, hands back | fails | fails |
/// | `Block` | fails | fails, hands back | waits in line | waits in line, within its timeout |
/// | `DropNewest` | dead letter | dead letter | dead letter | fails, dead letter |
/// | `DropOldest` | accepted; the oldest is a dead letter | the same | the same | the same; an ask that is dropped fails |
///
/// To fail is [`MailboxFull`](ErrorKind::MailboxFull). Stop, drain and kill are not messages and always get through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Overflow {
    /// The sender is told that the mailbox is full.
    Reject,
    /// The sender waits for room where it can, and is told that the mailbox is full where it cannot.
    Block,
    /// The new message becomes a dead letter.
    DropNewest,
    /// The message that has waited longest becomes a dead letter and makes room.
    DropOldest,
}

/// How many messages a mailbox holds, and what happens to more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) capacity: usize,
    pub(crate) overflow: Overflow,
}

impl Limit {
    pub(crate) fn check(self) -> Result<Self> {
        if self.capacity == 0 {
            let error = Error::new(ErrorKind::InvalidCapacity).with("capacity", 0);
            return Err(error.with("because", "a mailbox that holds nothing could never deliver"));
        }
        Ok(self)
    }
}

/// A sender's place in line. Numbers grow, and room is given in their order.
pub(crate) type Ticket = u64;

#[derive(Debug)]
struct Waiter<T> {
    ticket: Ticket,
    message: T,
    /// None for an ask: its asker waits for the reply anyway.
    waker: Option<Waker>,
}

/// The bound of one mailbox.
#[derive(Debug)]
pub(crate) struct Bound<T> {
    pub(crate) limit: Limit,
    line: VecDeque<Waiter<T>>,
    next: Ticket,
    /// Every ticket below it has been let in, or has left.
    served: Ticket,
}

impl<T> Bound<T> {
    pub(crate) fn new(limit: Limit) -> Self {
        Self { limit, line: VecDeque::new(), next: 0, served: 0 }
    }

    pub(crate) fn join(&mut self, message: T, waker: Option<Waker>) -> Ticket {
        let ticket = self.next;
        self.next += 1;
        self.line.push_back(Waiter { ticket, message, waker });
        ticket
    }

    /// The next in line, now that there is room.
    pub(crate) fn admit(&mut self) -> Option<(T, Option<Waker>)> {
        let Waiter { ticket, message, waker } = self.line.pop_front()?;
        self.served = ticket + 1;
        Some((message, waker))
    }

    /// Whether the message of this ticket is in the queue, or was.
    pub(crate) fn is_admitted(&self, ticket: Ticket) -> bool {
        ticket < self.served
    }

    /// Whether it still waits; its waker is renewed then.
    pub(crate) fn renew(&mut self, ticket: Ticket, waker: &Waker) -> bool {
        let waiter = self.position(ticket).map(|at| &mut self.line[at]);
        waiter.is_some_and(|waiter| {
            waiter.waker.get_or_insert_with(|| waker.clone()).clone_from(waker);
            true
        })
    }

    /// Leaves the line, with the message if it was still in it.
    pub(crate) fn leave(&mut self, ticket: Ticket) -> Option<T> {
        let at = self.position(ticket)?;
        self.line.remove(at).map(|waiter| waiter.message)
    }

    /// Sends everyone away.
    pub(crate) fn disperse(&mut self) -> impl Iterator<Item = (T, Option<Waker>)> {
        std::mem::take(&mut self.line).into_iter().map(|waiter| (waiter.message, waiter.waker))
    }

    fn position(&self, ticket: Ticket) -> Option<usize> {
        self.line.binary_search_by_key(&ticket, |waiter| waiter.ticket).ok()
    }
}
