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
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

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
}

impl<T> Inner<T> {
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
    pub(crate) fn new() -> Self {
        Self {
            inner: Mutex::new(Inner { queue: VecDeque::new(), phase: Phase::Starting, open: true }),
            ending: AtomicU8::new(Ending::None as u8),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts the message, or gives it back when the mailbox is closed.
    pub(crate) fn push(&self, message: T) -> Result<Nudge, T> {
        let mut inner = self.lock();
        if !inner.open {
            return Err(message);
        }
        inner.queue.push_back(message);
        Ok(inner.nudge(Lanes::All))
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
            _ => mem::swap(&mut inner.queue, batch),
        }
        Taken::Some
    }

    /// Registers the waker of a cell whose handler is pending. `true` when the actor has been killed.
    pub(crate) fn wait_for_signal(&self, waker: &Waker) -> bool {
        let mut inner = self.lock();
        inner.wait(waker, Lanes::System);
        self.ending() == Ending::Kill
    }

    /// Closes for good and gives what was never taken.
    pub(crate) fn close(&self) -> VecDeque<T> {
        let mut inner = self.lock();
        inner.open = false;
        inner.phase = Phase::Scheduled;
        mem::take(&mut inner.queue)
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::task::noop_waker_ref;

    fn kind<T: std::fmt::Debug>(nudge: Result<Nudge, T>) -> &'static str {
        match nudge.expect("the mailbox is open") {
            Nudge::Nothing => "nothing",
            Nudge::Host => "host",
            Nudge::Stop => "stop",
            Nudge::Waker(_) => "waker",
        }
    }

    fn signal(mailbox: &Mailbox<u32>, ending: Ending) -> &'static str {
        kind::<()>(Ok(mailbox.signal(ending)))
    }

    fn launched() -> Mailbox<u32> {
        let mailbox = Mailbox::new();
        assert_eq!(kind::<()>(Ok(mailbox.launch())), "nothing");
        mailbox
    }

    fn taken(mailbox: &Mailbox<u32>) -> Vec<u32> {
        let mut batch = VecDeque::new();
        mailbox.take(&mut batch, Park::Native);
        batch.into()
    }

    #[test]
    fn a_push_wakes_an_idle_cell_once() {
        let mailbox = launched();
        assert_eq!(kind(mailbox.push(1)), "host");
        assert_eq!(kind(mailbox.push(2)), "nothing");
        assert_eq!(mailbox.len(), 2);
        assert_eq!(taken(&mailbox), [1, 2]);
        assert_eq!(kind(mailbox.push(3)), "nothing", "the turn goes on");
        assert_eq!(taken(&mailbox), [3]);
        assert_eq!(mailbox.take(&mut VecDeque::new(), Park::Native), Taken::Parked);
        assert_eq!(kind(mailbox.push(4)), "host");
    }

    #[test]
    fn what_comes_before_the_launch_is_due_at_it() {
        let mailbox = Mailbox::new();
        assert_eq!(kind(mailbox.push(1)), "nothing");
        assert_eq!(kind::<()>(Ok(mailbox.launch())), "host");
        assert_eq!(kind::<()>(Ok(mailbox.launch())), "nothing");

        let stopped = Mailbox::<u32>::new();
        assert_eq!(signal(&stopped, Ending::Stop), "nothing");
        assert_eq!(kind::<()>(Ok(stopped.launch())), "host");

        let waited = Mailbox::new();
        assert!(!waited.wait_for_signal(noop_waker_ref()));
        waited.started();
        assert_eq!(kind(waited.push(1)), "nothing");
        assert_eq!(kind::<()>(Ok(waited.launch())), "host");

        let running = Mailbox::new();
        assert_eq!(running.take(&mut VecDeque::new(), Park::Pending(noop_waker_ref())), Taken::Parked);
        assert_eq!(kind::<()>(Ok(running.launch())), "nothing", "its host runs it already");
        assert_eq!(kind(running.push(1)), "waker");
    }

    #[test]
    fn a_pending_handler_is_woken_by_signals_only() {
        let mailbox = launched();
        assert_eq!(kind(mailbox.push(1)), "host");
        assert!(!mailbox.wait_for_signal(noop_waker_ref()));
        assert_eq!(kind(mailbox.push(2)), "nothing");
        assert_eq!(signal(&mailbox, Ending::Drain), "waker");
        assert!(!mailbox.wait_for_signal(noop_waker_ref()));
        assert_eq!(signal(&mailbox, Ending::Kill), "waker");
        assert!(mailbox.wait_for_signal(noop_waker_ref()));
    }

    #[test]
    fn a_cell_can_wait_for_messages_and_its_own_work_at_once() {
        let mailbox = launched();
        let mut batch = VecDeque::new();
        assert_eq!(mailbox.take(&mut batch, Park::Pending(noop_waker_ref())), Taken::Parked);
        assert_eq!(kind(mailbox.push(1)), "waker");
        assert_eq!(kind(mailbox.push(2)), "nothing");
        assert_eq!(mailbox.take(&mut batch, Park::Pending(noop_waker_ref())), Taken::Some);
        assert_eq!(batch, [1, 2]);
    }

    #[test]
    fn rousing_wakes_only_a_cell_with_nothing_to_do() {
        let rouse = |mailbox: &Mailbox<u32>| kind::<()>(Ok(mailbox.rouse()));
        let mailbox = launched();
        assert_eq!(rouse(&mailbox), "nothing");
        assert!(!mailbox.wait_for_signal(noop_waker_ref()));
        assert_eq!(rouse(&mailbox), "nothing");
        assert_eq!(mailbox.take(&mut VecDeque::new(), Park::Pending(noop_waker_ref())), Taken::Parked);
        assert_eq!(rouse(&mailbox), "waker");
        assert_eq!(rouse(&mailbox), "nothing");
    }

    #[test]
    fn the_stronger_ending_wins_and_closes() {
        let mailbox = launched();
        assert_eq!(signal(&mailbox, Ending::Drain), "host");
        assert_eq!(mailbox.push(1).unwrap_err(), 1);
        assert_eq!(mailbox.take(&mut VecDeque::new(), Park::Native), Taken::Ending);
        for (ending, expected) in
            [(Ending::Drain, Ending::Drain), (Ending::Kill, Ending::Kill), (Ending::Stop, Ending::Kill)]
        {
            signal(&mailbox, ending);
            assert_eq!(mailbox.ending(), expected);
        }
        assert_eq!(signal(&launched(), Ending::Stop), "stop", "an idle cell is stopped by its host");
    }

    #[test]
    fn closing_gives_the_rest() {
        let mailbox = launched();
        assert_eq!(kind(mailbox.push(1)), "host");
        assert_eq!(kind(mailbox.push(2)), "nothing");
        assert_eq!(mailbox.close(), [1, 2]);
        assert_eq!(mailbox.push(3).unwrap_err(), 3);
    }

    #[test]
    fn memory_is_given_back_after_a_burst() {
        let mailbox = launched();
        for number in 0..100_000 {
            let _ = mailbox.push(number);
        }
        let mut batch = VecDeque::new();
        assert_eq!(mailbox.take(&mut batch, Park::Native), Taken::Some);
        batch.clear();
        assert_eq!(mailbox.take(&mut batch, Park::Native), Taken::Parked);
        assert!(batch.capacity() <= 2 * KEPT_SLOTS, "{}", batch.capacity());
        assert!(mailbox.lock().queue.capacity() <= 2 * KEPT_SLOTS);
    }
}
