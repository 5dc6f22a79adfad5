//! The queue of one actor and the protocol by which it is woken.
//!
//! Everything that must agree is under one lock: the messages, whether new ones are accepted, how the actor
//! has been asked to end, and who must be woken. So there is no push-then-check race to reason about: a
//! refused message goes back whole, and exactly one caller is told to wake the actor.
//!
//! ```text
//!   Starting ── launch finds nothing ──► Idle ◄──────────── take finds nothing (turns) ──┐
//!      │                                  │ push / signal: Nudge::Host                    │
//!      └── launch finds work: Nudge::Host ┴───────────────► Scheduled ───────────────────┤
//!                                                              ▲                          │
//!                          push / signal: Nudge::Waker         │    take finds nothing (resident,
//!                                                           Waiting ◄─ lingering), handler pending ┘
//! ```

use std::collections::VecDeque;
use std::mem;
use std::sync::PoisonError;
use std::task::Waker;

use crate::bound::{Bound, Limit, Overflow, Ticket};
use crate::sync::atomic::{AtomicU8, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// Beyond this many slots a queue gives memory back when it runs empty.
const KEPT_SLOTS: usize = 256;

/// How an actor has been asked to end. A stronger request replaces a weaker one, never the reverse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Ending {
    None,
    Drain,
    Stop,
    Kill,
}

impl Ending {
    fn from_u8(value: u8) -> Self {
        match value {
            0 => Self::None,
            1 => Self::Drain,
            2 => Self::Stop,
            _ => Self::Kill,
        }
    }
}

/// What a caller must do, after the lock is released, so that the actor runs.
#[derive(Debug)]
#[must_use]
pub(crate) enum Nudge {
    Nothing,
    /// The cell is parked in the runtime: ask the backend for a turn.
    Host,
    /// The cell is parked in the runtime and is to stop: ask the backend to stop it.
    Stop,
    /// The cell's future is pending: wake it.
    Waker(Waker),
}

/// Why a message is not in the queue.
#[derive(Debug)]
pub(crate) enum Refusal<T> {
    /// The mailbox is closed.
    Closed(T),
    /// It is full, and the sender is to know.
    Full(T),
    /// It is full, and the message is to be dropped: this one, or an older one that made room for it.
    Dropped(T, Nudge),
}

/// What wakes a pending cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lanes {
    /// Only a system signal: a handler is running and has the actor to itself.
    System,
    /// A system signal or a message.
    All,
}

/// Where a cell that finds nothing to do goes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Park<'a> {
    /// Back to the runtime; the next push asks the backend for a turn.
    Native,
    /// Its future stays pending; the next push wakes this waker.
    Pending(&'a Waker),
}

/// What [`Mailbox::take`] found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Messages, now in the caller's batch.
    Some,
    /// Nothing, and the actor has been asked to end.
    Ending,
    /// Nothing: the cell is parked.
    Parked,
}

#[derive(Debug)]
enum Phase {
    Starting,
    Idle,
    Scheduled,
    Waiting(Waker, Lanes),
}

#[derive(Debug)]
struct Inner<T> {
    queue: VecDeque<T>,
    phase: Phase,
    open: bool,
    bound: Option<Box<Bound<T>>>,
}

impl<T> Inner<T> {
    fn is_full(&self) -> bool {
        self.bound.as_ref().is_some_and(|bound| self.queue.len() >= bound.limit.capacity)
    }

    fn nudge(&mut self, lane: Lanes) -> Nudge {
        match &self.phase {
            Phase::Starting | Phase::Scheduled => return Nudge::Nothing,
            Phase::Waiting(_, Lanes::System) if lane == Lanes::All => return Nudge::Nothing,
            Phase::Waiting(..) | Phase::Idle => {}
        }
        match mem::replace(&mut self.phase, Phase::Scheduled) {
            Phase::Waiting(waker, _) => Nudge::Waker(waker),
            _ => Nudge::Host,
        }
    }

    fn accept(&mut self, message: T) -> Result<Nudge, Refusal<T>> {
        if !self.open {
            return Err(Refusal::Closed(message));
        }
        if self.is_full() {
            return Err(self.overflow(message));
        }
        self.queue.push_back(message);
        Ok(self.nudge(Lanes::All))
    }

    /// What becomes of a message that finds the mailbox full.
    fn overflow(&mut self, message: T) -> Refusal<T> {
        let overflow = self.bound.as_ref().map(|bound| bound.limit.overflow);
        match overflow {
            Some(Overflow::DropNewest) => Refusal::Dropped(message, Nudge::Nothing),
            Some(Overflow::DropOldest) => {
                self.queue.push_back(message);
                match self.queue.pop_front() {
                    Some(oldest) => Refusal::Dropped(oldest, self.nudge(Lanes::All)),
                    None => unreachable!("a full queue is not empty"),
                }
            }
            Some(Overflow::Reject | Overflow::Block) | None => Refusal::Full(message),
        }
    }

    fn wait(&mut self, waker: &Waker, lanes: Lanes) {
        match &mut self.phase {
            Phase::Waiting(current, current_lanes) if current.will_wake(waker) => *current_lanes = lanes,
            phase => *phase = Phase::Waiting(waker.clone(), lanes),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    inner: Mutex<Inner<T>>,
    /// Written under the lock, read without it between messages.
    ending: AtomicU8,
}

impl<T> Mailbox<T> {
    /// An open mailbox of a cell that is not in its host yet.
    pub(crate) fn new(limit: Option<Limit>) -> Self {
        let bound = limit.map(|limit| Box::new(Bound::new(limit)));
        Self {
            inner: Mutex::new(Inner { queue: VecDeque::new(), phase: Phase::Starting, open: true, bound }),
            ending: AtomicU8::new(Ending::None as u8),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts the message, or says what became of it.
    pub(crate) fn push(&self, message: T) -> Result<Nudge, Refusal<T>> {
        self.lock().accept(message)
    }

    /// Accepts the message or, where senders wait for room, lets it join the line.
    pub(crate) fn push_or_join(
        &self,
        message: T,
        waker: Option<Waker>,
    ) -> Result<(Nudge, Option<Ticket>), Refusal<T>> {
        let mut inner = self.lock();
        let waits = inner.open && inner.is_full();
        match &mut inner.bound {
            Some(bound) if waits && bound.limit.overflow == Overflow::Block => {
                Ok((Nudge::Nothing, Some(bound.join(message, waker))))
            }
            _ => inner.accept(message).map(|nudge| (nudge, None)),
        }
    }

    /// `None` while the ticket waits; then whether its message was accepted.
    pub(crate) fn poll_ticket(&self, ticket: Ticket, waker: &Waker) -> Option<bool> {
        let mut inner = self.lock();
        let bound = inner.bound.as_mut()?;
        if bound.renew(ticket, waker) { None } else { Some(bound.is_admitted(ticket)) }
    }

    /// Takes a waiting message out of the line.
    pub(crate) fn leave(&self, ticket: Ticket) -> Option<T> {
        self.lock().bound.as_mut()?.leave(ticket)
    }

    /// Asks the actor to end. Accepts nothing from here on; a weaker request than an earlier one is ignored.
    pub(crate) fn signal(&self, ending: Ending) -> Nudge {
        let mut inner = self.lock();
        if self.ending() >= ending {
            return Nudge::Nothing;
        }
        self.ending.store(ending as u8, Ordering::Release);
        inner.open = false;
        match inner.nudge(Lanes::System) {
            Nudge::Host if ending == Ending::Stop => Nudge::Stop,
            nudge => nudge,
        }
    }

    /// `on_start` is done, and whoever ran it wakes nobody any more.
    pub(crate) fn started(&self) {
        self.lock().phase = Phase::Starting;
    }

    /// The cell is in its host: whatever came while it started is due now.
    pub(crate) fn launch(&self) -> Nudge {
        let mut inner = self.lock();
        if !matches!(inner.phase, Phase::Starting) {
            // The host runs the cell already.
            return Nudge::Nothing;
        }
        inner.phase = Phase::Idle;
        if inner.queue.is_empty() && self.ending() == Ending::None {
            return Nudge::Nothing;
        }
        inner.nudge(Lanes::All)
    }

    /// How the actor has been asked to end.
    pub(crate) fn ending(&self) -> Ending {
        Ending::from_u8(self.ending.load(Ordering::Acquire))
    }

    /// Moves all that is queued into the empty `batch`, or parks the cell.
    pub(crate) fn take(&self, batch: &mut VecDeque<T>, park: Park<'_>) -> Taken {
        let mut inner = self.lock();
        match inner.queue.len() {
            0 if self.ending() != Ending::None => return Taken::Ending,
            0 => {
                inner.queue.shrink_to(KEPT_SLOTS);
                batch.shrink_to(KEPT_SLOTS);
                match park {
                    Park::Native => inner.phase = Phase::Idle,
                    Park::Pending(waker) => inner.wait(waker, Lanes::All),
                }
                return Taken::Parked;
            }
            // One message needs no second buffer: most actors never have one.
            1 => batch.extend(inner.queue.pop_front()),
            // A bounded queue holds all but the one in hand.
            _ if inner.bound.is_some() => batch.extend(inner.queue.pop_front()),
            _ => mem::swap(&mut inner.queue, batch),
        }
        let Inner { queue, bound, .. } = &mut *inner;
        let admitted = bound.as_mut().and_then(|bound| bound.admit());
        if let Some((message, waker)) = admitted {
            queue.push_back(message);
            drop(inner);
            waker.into_iter().for_each(Waker::wake);
        }
        Taken::Some
    }

    /// Registers the waker of a cell whose handler is pending. `true` when the actor has been killed.
    pub(crate) fn wait_for_signal(&self, waker: &Waker) -> bool {
        let mut inner = self.lock();
        inner.wait(waker, Lanes::System);
        self.ending() == Ending::Kill
    }

    /// Closes for good and gives what was never taken, and what never got in.
    pub(crate) fn close(&self) -> VecDeque<T> {
        let mut inner = self.lock();
        inner.open = false;
        inner.phase = Phase::Scheduled;
        let mut rest = mem::take(&mut inner.queue);
        let mut wakers = Vec::new();
        for (message, waker) in inner.bound.iter_mut().flat_map(|bound| bound.disperse()) {
            rest.push_back(message);
            wakers.extend(waker);
        }
        drop(inner);
        wakers.into_iter().for_each(Waker::wake);
        rest
    }

    /// Wakes a cell that is pending with nothing to do, so that it parks anew.
    pub(crate) fn rouse(&self) -> Nudge {
        let mut inner = self.lock();
        match inner.phase {
            Phase::Waiting(_, Lanes::All) => inner.nudge(Lanes::All),
            _ => Nudge::Nothing,
        }
    }

    /// How many messages wait.
    pub(crate) fn len(&self) -> usize {
        self.lock().queue.len()
    }
}

#[cfg(all(test, dactor_loom))]
mod models;
#[cfg(test)]
mod tests;
