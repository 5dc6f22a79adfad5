//! The timers of one actor. They need no task: one sleep is set to the earliest of them, and its waker
//! [calls](crate::mailbox::Mailbox::call) the cell.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context as TaskContext, Waker};
use std::time::Duration;

use slab::Slab;
use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

use super::TimerKey;
use super::missed::{MissedTick, later};
use super::tick::Tick;
use crate::Actor;
use crate::base::panic::{Panic, contain, discard};
use crate::delivery::envelope::Envelope;
use crate::kernel::actor_core::{ActorCore, DynActor};

/// Beyond this many slots, the table frees memory when it becomes empty.
const KEPT_SLOTS: usize = 256;

/// Makes the message of a timer that fires more than once.
pub(super) type Make<A> = Box<dyn FnMut() -> Envelope<A> + Send>;

/// What a timer does.
pub(super) enum Plan<A> {
    /// `None` once it has fired.
    Once(Option<Envelope<A>>),
    Every(Duration, MissedTick, Make<A>),
    /// Fires when no message has been handled for this long.
    Idle(Duration, Make<A>),
}

/// A slot in the timer table. Its number is never reused, not even after a restart, so a stale slot cannot
/// match another timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TimerSlot {
    number: u64,
    index: usize,
}

struct Timer<A> {
    number: u64,
    /// `None` for a timer without a key: its slot is its key.
    key: Option<TimerKey>,
    plan: Plan<A>,
    message: &'static str,
    /// When it is due, or was if its tick is in the mailbox.
    at: Instant,
}

/// The timers of one actor.
pub(crate) struct Timers<A: Actor> {
    /// The number of the newest timer.
    last: u64,
    timers: Slab<Timer<A>>,
    named: HashMap<TimerKey, TimerSlot>,
    /// The timers whose tick is not in the mailbox.
    due: BTreeSet<(Instant, TimerSlot)>,
    /// When the sleep wakes the cell.
    armed: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
    /// When the last message was handled, for the idle timeout.
    active: Instant,
}

impl<A: Actor> Timers<A> {
    pub(super) fn new() -> Self {
        Self {
            last: 0,
            timers: Slab::new(),
            named: HashMap::new(),
            due: BTreeSet::new(),
            armed: None,
            sleep: None,
            active: Instant::now(),
        }
    }

    /// Sets a timer, replacing one with the same key.
    pub(super) fn set(
        &mut self,
        key: Option<TimerKey>,
        time: Duration,
        plan: Plan<A>,
        message: &'static str,
        core: &Arc<ActorCore<A>>,
    ) -> TimerSlot {
        let now = Instant::now();
        if let Plan::Idle(..) = plan {
            self.active = now;
        }
        let at = later(now, time);
        self.last += 1;
        let index = self.timers.insert(Timer { number: self.last, key: key.clone(), plan, message, at });
        let slot = TimerSlot { number: self.last, index };
        self.due.insert((at, slot));
        self.arm(now, core);
        if let Some(replaced) = key.and_then(|key| self.named.insert(key, slot)) {
            self.take_out(replaced);
        }
        slot
    }

    pub(super) fn cancel(&mut self, key: &TimerKey) -> bool {
        let slot = key.slot().or_else(|| self.named.remove(key));
        slot.is_some_and(|slot| self.take_out(slot).is_some())
    }

    /// Cancels all timers.
    pub(super) fn clear(&mut self) {
        self.named.clear();
        self.due.clear();
        (self.armed, self.sleep) = (None, None);
        // They hold user messages.
        self.timers.drain().for_each(discard);
    }

    /// Removes a timer, unless it is over and its key is gone or belongs to another timer.
    fn take_out(&mut self, slot: TimerSlot) -> Option<Timer<A>> {
        find(&mut self.timers, slot)?;
        let timer = self.timers.remove(slot.index);
        self.due.remove(&(timer.at, slot));
        Some(timer)
    }

    /// Removes a finished timer and frees its key.
    fn forget(&mut self, slot: TimerSlot) {
        let timer = self.timers.remove(slot.index);
        if let Some(key) = &timer.key {
            self.named.remove(key);
        }
        discard(timer);
        if self.timers.is_empty() && self.timers.capacity() > KEPT_SLOTS {
            self.timers.shrink_to_fit();
            self.named.shrink_to_fit();
        }
    }

    /// A message has been handled.
    pub(super) fn is_active(&mut self) {
        self.active = Instant::now();
    }

    /// Puts a tick into the mailbox for each due timer.
    pub(super) fn fire_due_timers(&mut self, core: &Arc<ActorCore<A>>) {
        let now = Instant::now();
        while let Some((at, slot)) = self.due.pop_first() {
            if at > now {
                self.due.insert((at, slot));
                break;
            }
            let message = self.timers[slot.index].message;
            match core.mailbox.notify_of_timer(Tick::envelope(slot, message)) {
                Ok(wakeup) => core.meta.wake(wakeup),
                // The mailbox is closed: the actor is ending.
                Err(_) => self.forget(slot),
            }
        }
        self.armed = self.armed.filter(|armed| *armed > now);
        self.arm(now, core);
    }

    /// The message of a tick, unless its timer was cancelled. An interval is scheduled again.
    pub(super) fn claim(
        &mut self,
        slot: TimerSlot,
        core: &Arc<ActorCore<A>>,
    ) -> Option<Result<Envelope<A>, Panic>> {
        let timer = find(&mut self.timers, slot)?;
        if let Plan::Once(envelope) = &mut timer.plan {
            let envelope = envelope.take();
            self.forget(slot);
            return envelope.map(Ok);
        }
        let now = Instant::now();
        let (next, made) = match &mut timer.plan {
            Plan::Once(_) => return None,
            Plan::Every(period, missed, make) => (missed.next(timer.at, now, *period), Some(contain(make))),
            Plan::Idle(after, make) => match later(self.active, *after) {
                // Messages were handled since: not idle long enough.
                quiet if quiet > now => (quiet, None),
                _ => (later(now, *after), Some(contain(make))),
            },
        };
        timer.at = next;
        self.due.insert((next, slot));
        self.arm(now, core);
        made
    }

    /// Sets the sleep to the earliest timer.
    fn arm(&mut self, now: Instant, core: &Arc<ActorCore<A>>) {
        let Some(&(at, _)) = self.due.first() else { return };
        if self.armed.is_some_and(|armed| armed <= at) {
            return;
        }
        self.armed = Some(at);
        if at <= now {
            core.call();
            return;
        }
        let sleep = match &mut self.sleep {
            Some(sleep) => {
                sleep.as_mut().reset(at);
                sleep
            }
            none => none.insert(Box::pin(sleep_until(at))),
        };
        let waker = Waker::from(core.clone());
        // Out of tokio's coop budget the sleep would wake immediately, and call the cell over and over within
        // one poll.
        let polled = pin!(unconstrained(sleep.as_mut())).poll(&mut TaskContext::from_waker(&waker));
        if polled.is_ready() {
            core.call();
        }
    }
}

/// A backend may drop a cell at any time: a message whose destructor panics must not unwind into it.
impl<A: Actor> Drop for Timers<A> {
    fn drop(&mut self) {
        self.clear();
    }
}

fn find<A>(timers: &mut Slab<Timer<A>>, slot: TimerSlot) -> Option<&mut Timer<A>> {
    timers.get_mut(slot.index).filter(|timer| timer.number == slot.number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Guardian;
    use crate::system::test_actors::{TestActor, system, test_actor};

    const HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn memory_is_given_back_after_a_burst() {
        let core = test_actor(&system(), Guardian::User);
        // The slots before and after the last of this many timers is over.
        let slots = |count: usize| {
            let mut timers = Timers::new();
            let set = |_| timers.set(None, HOUR, Plan::Once(None), "", &core);
            let mut timer_slots: Vec<_> = (0..count).map(set).collect();
            let last = timer_slots.pop().unwrap();
            assert!(timer_slots.into_iter().all(|slot| timers.claim(slot, &core).is_none()));
            let before = timers.timers.capacity();
            assert!(timers.claim(last, &core).is_none());
            (before, timers.timers.capacity())
        };
        assert_eq!(slots(KEPT_SLOTS), (KEPT_SLOTS, KEPT_SLOTS), "that many are kept");
        let (before, after) = slots(KEPT_SLOTS + 1);
        assert!(before > KEPT_SLOTS && after == 0, "{before} {after}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_cell_is_called_for_the_earliest() {
        let core = test_actor(&system(), Guardian::User);
        let (begin, mut timers) = (Instant::now(), Timers::new());
        for (hours, earliest) in [(3, 3), (1, 1), (2, 1)] {
            timers.set(None, HOUR * hours, Plan::Once(None), "", &core);
            let sleep = timers.sleep.as_ref().unwrap();
            assert_eq!(sleep.deadline(), begin + HOUR * earliest, "after one of {hours} hours");
        }
        assert!(!core.mailbox.signals().is_called());
        tokio::time::advance(HOUR).await;
        assert!(core.mailbox.signals().is_called());
    }

    #[tokio::test]
    async fn a_tick_names_the_message_that_it_stands_for() {
        let core = test_actor(&system(), Guardian::User);
        let slot = Timers::new().set(None, HOUR, Plan::Once(None), "", &core);
        let tick: Envelope<TestActor> = Tick::envelope(slot, "a message");
        assert_eq!((tick.is_letter(), tick.message_type(), tick.describe()), (false, "a message", None));
    }

    #[tokio::test]
    async fn a_destructor_that_panics_takes_nobody_down() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("on purpose");
            }
        }
        let core = test_actor(&system(), Guardian::User);
        let (bomb, mut timers) = (Bomb, Timers::new());
        let make = Box::new(move || unreachable!("{}", size_of_val(&bomb)));
        timers.set(None, HOUR, Plan::Every(HOUR, MissedTick::Skip, make), "", &core);
        drop(timers);
    }
}
