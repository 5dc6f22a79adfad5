//! How a message gets into a mailbox.

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
    /// It is full, and the sender is to know.
    Full(T),
    /// It sheds load, and the sender is to know when to try again.
    Overloaded(T, Duration),
    /// It is full, and the message is to be dropped: this one, or an older one that made room for it.
    Dropped(T, Wakeup),
    /// Its asker had given up before it came.
    Withdrawn(T),
}

impl<T: Item> Inner<T> {
    /// Whether it is open to the caller.
    pub(super) fn is_open(&self) -> bool {
        self.open || (self.members && is_member())
    }

    /// Accepts the message, if the mailbox is open.
    ///
    /// Inlined, like the two others: a message that is refused is handed back by value, and each call would move it once
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
    /// Accepts the message, or says what became of it.
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

    /// Accepts the message or, where senders wait for room, lets it join the line.
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

    /// The same for a message whose asker asked another actor, and may have given up meanwhile. `enter` says whether it
    /// has not, and from then on the asker looks for its message here.
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

    /// Takes a waiting message out of the line.
    pub(crate) fn leave(&self, ticket: Ticket) -> Option<T> {
        let mut garbage = Vec::new();
        let left = self.lock().bound.as_mut().and_then(|bound| bound.leave(ticket, &mut garbage));
        throw_away(garbage);
        left
    }

    /// Accepts what the kernel sends, behind everything else and whether there is room or not.
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
