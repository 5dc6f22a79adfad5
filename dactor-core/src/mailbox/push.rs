//! Adding messages to a mailbox.

use std::task::Waker;
use std::time::Duration;

use super::bound::Ticket;
use super::slot::Slot;
use super::take::BATCH;
use super::wakeup::{WakeOn, Wakeup};
use super::withdraw::{mark_taken, throw_away};
use super::{Inner, Item, Mailbox};
use crate::Priority;
use crate::base::current::is_member;

/// Why a message is not in the queue.
#[derive(Debug)]
pub(crate) enum Refusal<T> {
    /// The mailbox is closed.
    Closed(T),
    /// Full: the sender gets an error.
    Full(T),
    /// Load shedding: the sender is told when to retry.
    Overloaded(T, Duration),
    /// Full: this message, or an evicted older one, is dropped.
    Dropped(T, Wakeup),
    /// Its asker had already given up.
    Withdrawn(T),
}

impl<T: Item> Inner<T> {
    /// Whether it accepts messages from the caller.
    pub(super) fn is_open(&self) -> bool {
        self.open || (self.members && is_member())
    }

    /// Accepts the message, if the mailbox is open.
    ///
    /// Inlined, like the two others: a refused message is returned by value, and each call would move it once
    /// more.
    #[inline(always)]
    pub(super) fn accept(&mut self, message: T, priority: Priority) -> Result<Wakeup, Refusal<T>> {
        if !self.is_open() {
            return Err(Refusal::Closed(message));
        }
        if self.bound.is_some() {
            if let Some(retry_after) = self.overload() {
                return Err(Refusal::Overloaded(message, retry_after));
            }
            if self.is_full() {
                return Err(self.overflow(message, priority));
            }
        }
        self.put(message, priority);
        Ok(self.wakeup(WakeOn::All))
    }

    #[inline(always)]
    pub(super) fn put(&mut self, message: T, priority: Priority) {
        if let Some(bound) = &mut self.bound {
            bound.put(&message, priority);
        } else if self.queue.len() >= BATCH {
            self.begin_chunk();
        }
        match priority {
            Priority::Normal => self.queue.push_back(message),
            _ => self.lanes.get_or_insert_default().lane(&mut self.queue, priority).push_back(message),
        }
    }
}

impl<T: Item> Mailbox<T> {
    /// Accepts the message, or returns the refusal.
    pub(crate) fn push(&self, message: T, priority: Priority) -> Result<Wakeup, Refusal<T>> {
        self.accept(&mut self.lock(), message, priority)
    }

    #[inline(always)]
    pub(super) fn accept(
        &self,
        inner: &mut Inner<T>,
        message: T,
        priority: Priority,
    ) -> Result<Wakeup, Refusal<T>> {
        let accepted = inner.accept(message, priority);
        if priority != Priority::Normal {
            self.update_overtaken(inner);
        }
        accepted
    }

    /// Accepts the message or, with `Overflow::Block`, joins the line.
    pub(crate) fn push_or_join(
        &self,
        message: T,
        priority: Priority,
        waker: Option<&Waker>,
    ) -> Result<(Wakeup, Option<Ticket>), Refusal<T>> {
        let mut inner = self.lock();
        if inner.admits_waiters()
            && let Some(bound) = &mut inner.bound
        {
            return Ok((Wakeup::None, Some(bound.join(message, priority, waker.cloned()))));
        }
        match self.accept(&mut inner, message, priority) {
            Ok(wakeup) => Ok((wakeup, None)),
            Err(refusal) => Err(refusal),
        }
    }

    /// The same for a forwarded message, whose asker may have given up meanwhile. `enter` returns `false` in
    /// that case; otherwise the asker looks for its message here from then on.
    pub(crate) fn push_or_join_forwarded(
        &self,
        message: T,
        priority: Priority,
        enter: impl FnOnce(&T, Slot) -> bool,
    ) -> Result<Wakeup, Refusal<T>> {
        let mut inner = self.lock();
        let waits = inner.admits_waiters();
        if !enter(&message, if waits { Slot::InLine } else { Slot::Queued }) {
            return Err(Refusal::Withdrawn(message));
        }
        if waits && let Some(bound) = &mut inner.bound {
            bound.join(message, priority, None);
            return Ok(Wakeup::None);
        }
        let accepted = self.accept(&mut inner, message, priority);
        if let Err(
            Refusal::Closed(back)
            | Refusal::Full(back)
            | Refusal::Overloaded(back, _)
            | Refusal::Dropped(back, _),
        ) = &accepted
        {
            mark_taken(back);
        }
        accepted
    }

    /// `None` while the ticket waits; then whether its message was accepted.
    pub(crate) fn poll_ticket(&self, ticket: Ticket, waker: &Waker) -> Option<bool> {
        let mut inner = self.lock();
        let bound = inner.bound.as_mut()?;
        if bound.renew(ticket, waker) { None } else { Some(bound.is_admitted(ticket)) }
    }

    /// Removes a waiting message from the line.
    pub(crate) fn leave(&self, ticket: Ticket) -> Option<T> {
        let mut garbage = Vec::new();
        let left = self.lock().bound.as_mut().and_then(|bound| bound.leave(ticket, &mut garbage));
        throw_away(garbage);
        left
    }

    /// Accepts a kernel notice at the back, regardless of the bound.
    pub(crate) fn notify(&self, notice: T) -> Result<Wakeup, T> {
        let mut inner = self.lock();
        if !inner.open && !inner.members {
            return Err(notice);
        }
        if let Some(bound) = inner.bound.as_mut().filter(|bound| bound.has_waiters()) {
            bound.join(notice, Priority::Normal, None);
            return Ok(Wakeup::None);
        }
        if notice.comes_last() {
            inner.put_last(notice);
        } else {
            inner.put(notice, Priority::Normal);
        }
        Ok(inner.wakeup(WakeOn::All))
    }
}
