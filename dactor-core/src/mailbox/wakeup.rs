//! Where a cell is parked, and how it is woken.
//!
//! ```text
//!   Starting ── launch finds nothing ────► Idle ◄──────────── take finds nothing (turns) ──┐
//!      │                                    │ push / signal: Wakeup::Native                 │
//!      └── launch finds work: Wakeup::Native ┴─────────────► Scheduled ────────────────────┤
//!                                                                ▲                         │
//!                           push / signal: Wakeup::Waker         │   take finds nothing (resident,
//!                                                             Waiting ◄─ lingering), handler pending ┘
//! ```

use std::mem;
use std::task::Waker;

use super::signals::Ending;
use super::{Inner, Item, Mailbox};

/// What a caller must do after releasing the lock, so that the actor runs.
#[derive(Debug)]
#[must_use]
pub(crate) enum Wakeup {
    None,
    /// The cell is parked in the runtime: ask the native actor for a turn.
    Native,
    /// The cell is parked in the runtime and is to stop: ask the native actor to stop it.
    Stop,
    /// The cell's future is pending: wake it.
    Waker(Waker),
}

/// Events that wake a pending cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WakeOn {
    /// Only a signal: a handler is running.
    Signals,
    /// A system signal or a message that joins the running reads, which others wait behind.
    Joins,
    /// A system signal or a message: reads are running, and others may run beside them.
    Reads,
    /// A system signal or a message: there is nothing to do.
    All,
}

#[derive(Debug)]
pub(super) enum Phase {
    Starting,
    Idle,
    Scheduled,
    Waiting(Waker, WakeOn),
}

impl<T: Item> Inner<T> {
    pub(super) fn wakeup(&mut self, by: WakeOn) -> Wakeup {
        match &self.phase {
            Phase::Starting | Phase::Scheduled => return Wakeup::None,
            Phase::Waiting(_, WakeOn::Signals) if by != WakeOn::Signals => return Wakeup::None,
            Phase::Waiting(_, WakeOn::Joins) if by == WakeOn::All => return Wakeup::None,
            Phase::Waiting(..) | Phase::Idle => {}
        }
        self.wakes = self.wakes.wrapping_add(1);
        match mem::replace(&mut self.phase, Phase::Scheduled) {
            Phase::Waiting(waker, _) => Wakeup::Waker(waker),
            _ => Wakeup::Native,
        }
    }

    pub(super) fn wait(&mut self, waker: &Waker, wake_on: WakeOn) {
        match &mut self.phase {
            Phase::Waiting(current, current_wake_on) if current.will_wake(waker) => {
                *current_wake_on = wake_on
            }
            phase => *phase = Phase::Waiting(waker.clone(), wake_on),
        }
    }
}

impl<T: Item> Mailbox<T> {
    /// `on_start` is done: its task must not be woken again.
    pub(crate) fn started(&self) {
        self.lock().phase = Phase::Starting;
    }

    /// The cell is in its host: messages that arrived during the start are due now.
    pub(crate) fn launch(&self) -> Wakeup {
        let mut inner = self.lock();
        if !matches!(inner.phase, Phase::Starting) {
            // The host is already running the cell.
            return Wakeup::None;
        }
        inner.phase = Phase::Idle;
        if inner.is_empty() && self.ending() == Ending::None && !self.signals().is_called() {
            return Wakeup::None;
        }
        inner.wakeup(WakeOn::All)
    }

    /// Registers the waker of a cell whose handler is pending. `true` when the actor has been killed.
    pub(crate) fn wait_for_signal(&self, waker: &Waker) -> bool {
        let mut inner = self.lock();
        inner.wait(waker, WakeOn::Signals);
        self.ending() == Ending::Kill
    }

    /// Wakes a pending, idle cell, so that it parks again.
    pub(crate) fn repark(&self) -> Wakeup {
        let mut inner = self.lock();
        match inner.phase {
            Phase::Waiting(_, WakeOn::All) => inner.wakeup(WakeOn::All),
            _ => Wakeup::None,
        }
    }
}
