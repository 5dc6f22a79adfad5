//! The timers of one actor. No tasks: one sleep is set to the earliest of them, and its waker
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
use crate::Actor;
use crate::envelope::Envelope;
use crate::panic::{Panic, contain, discard};
use crate::shared::{Control, Shared};

/// Beyond this many slots the table gives memory back when it runs empty.
const KEPT_SLOTS: usize = 256;

/// Makes the message of a timer that fires more than once.
pub(super) type Make<A> = Box<dyn FnMut() -> Envelope<A> + Send>;

/// What a timer does.
pub(super) enum Plan<A> {
    /// The message is there until it fires.
    Once(Option<Envelope<A>>),
    Every(Duration, MissedTick, Make<A>),
    /// Fires when no message has been handled for so long.
    Idle(Duration, Make<A>),
}

/// Where a timer is in the table. Its number is never given again, not even after a restart: whoever looks for a timer
/// finds no other in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    number: u64,
    slot: usize,
}

struct Timer<A> {
    number: u64,
    /// None for a timer without one: its place is its key.
    key: Option<TimerKey>,
    plan: Plan<A>,
    message: &'static str,
    /// When it is due, or was if its tick is in the mailbox.
    at: Instant,
}

/// The timers of one actor.
pub(crate) struct Timers<A: Actor> {
    /// The number of the newest.
    last: u64,
    timers: Slab<Timer<A>>,
    named: HashMap<TimerKey, Place>,
    /// Those whose tick is not in the mailbox.
    due: BTreeSet<(Instant, Place)>,
    /// When the cell will be called next.
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

    /// Sets a timer, in the place of another of this key.
    pub(super) fn set(
        &mut self,
        key: Option<TimerKey>,
        time: Duration,
        plan: Plan<A>,
        message: &'static str,
        shared: &Arc<Shared<A>>,
    ) -> Place {
        let now = Instant::now();
        if let Plan::Idle(..) = plan {
            self.active = now;
        }
        let at = later(now, time);
        self.last += 1;
        let slot = self.timers.insert(Timer { number: self.last, key: key.clone(), plan, message, at });
        let place = Place { number: self.last, slot };
        self.due.insert((at, place));
        self.arm(now, shared);
        if let Some(replaced) = key.and_then(|key| self.named.insert(key, place)) {
            self.take_out(replaced);
        }
        place
    }

    pub(super) fn cancel(&mut self, key: &TimerKey) -> bool {
        let place = key.place().or_else(|| self.named.remove(key));
        place.is_some_and(|place| self.take_out(place).is_some())
    }

    /// Cancels them all.
    pub(super) fn clear(&mut self) {
        self.named.clear();
        self.due.clear();
        (self.armed, self.sleep) = (None, None);
        // Messages of the user's.
        self.timers.drain().for_each(discard);
    }

    /// Takes a timer out, unless it is over. Its key is gone, or is another's by now.
    fn take_out(&mut self, place: Place) -> Option<Timer<A>> {
        find(&mut self.timers, place)?;
        let timer = self.timers.remove(place.slot);
        self.due.remove(&(timer.at, place));
        Some(timer)
    }

    /// A timer is over, and its key is free.
    fn forget(&mut self, place: Place) {
        let timer = self.timers.remove(place.slot);
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

    /// Puts a tick of everything that is due into the mailbox.
    pub(super) fn ring(&mut self, shared: &Arc<Shared<A>>) {
        let now = Instant::now();
        while let Some((at, place)) = self.due.pop_first() {
            if at > now {
                self.due.insert((at, place));
                break;
            }
            let message = self.timers[place.slot].message;
            match shared.mailbox.notify_of_timer(Envelope::tick(place, message)) {
                Ok(nudge) => shared.head.act(nudge),
                // An actor that ends accepts nothing more.
                Err(_) => self.forget(place),
            }
        }
        self.armed = self.armed.filter(|armed| *armed > now);
        self.arm(now, shared);
    }

    /// The message of a tick, if its timer is still wanted. What fires again is set again.
    pub(super) fn claim(
        &mut self,
        place: Place,
        shared: &Arc<Shared<A>>,
    ) -> Option<Result<Envelope<A>, Panic>> {
        let timer = find(&mut self.timers, place)?;
        if let Plan::Once(envelope) = &mut timer.plan {
            let envelope = envelope.take();
            self.forget(place);
            return envelope.map(Ok);
        }
        let now = Instant::now();
        let (next, made) = match &mut timer.plan {
            Plan::Once(_) => return None,
            Plan::Every(period, missed, make) => (missed.next(timer.at, now, *period), Some(contain(make))),
            Plan::Idle(after, make) => match later(self.active, *after) {
                // There were messages before it.
                quiet if quiet > now => (quiet, None),
                _ => (later(now, *after), Some(contain(make))),
            },
        };
        timer.at = next;
        self.due.insert((next, place));
        self.arm(now, shared);
        made
    }

    /// Sees to it that the cell is called when the first is due.
    fn arm(&mut self, now: Instant, shared: &Arc<Shared<A>>) {
        let Some(&(at, _)) = self.due.first() else { return };
        if self.armed.is_some_and(|armed| armed <= at) {
            return;
        }
        self.armed = Some(at);
        if at <= now {
            shared.call();
            return;
        }
        let sleep = match &mut self.sleep {
            Some(sleep) => {
                sleep.as_mut().reset(at);
                sleep
            }
            none => none.insert(Box::pin(sleep_until(at))),
        };
        let waker = Waker::from(shared.clone());
        // Out of budget it would wake at once, and so call the cell again and again inside one poll.
        let polled = pin!(unconstrained(sleep.as_mut())).poll(&mut TaskContext::from_waker(&waker));
        if polled.is_ready() {
            shared.call();
        }
    }
}

/// A cell may be dropped by anyone: a message whose destructor panics must not take them down.
impl<A: Actor> Drop for Timers<A> {
    fn drop(&mut self) {
        self.clear();
    }
}

fn find<A>(timers: &mut Slab<Timer<A>>, place: Place) -> Option<&mut Timer<A>> {
    timers.get_mut(place.slot).filter(|timer| timer.number == place.number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Guardian;
    use crate::puppet::{Puppet, puppet, system};

    const HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn memory_is_given_back_after_a_burst() {
        let shared = puppet(&system(), Guardian::User);
        // The slots before and after the last of so many timers is over.
        let slots = |count: usize| {
            let mut timers = Timers::new();
            let set = |_| timers.set(None, HOUR, Plan::Once(None), "", &shared);
            let mut places: Vec<_> = (0..count).map(set).collect();
            let last = places.pop().unwrap();
            assert!(places.into_iter().all(|place| timers.claim(place, &shared).is_none()));
            let before = timers.timers.capacity();
            assert!(timers.claim(last, &shared).is_none());
            (before, timers.timers.capacity())
        };
        assert_eq!(slots(KEPT_SLOTS), (KEPT_SLOTS, KEPT_SLOTS), "that many are kept");
        let (before, after) = slots(KEPT_SLOTS + 1);
        assert!(before > KEPT_SLOTS && after == 0, "{before} {after}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_cell_is_called_for_the_earliest() {
        let shared = puppet(&system(), Guardian::User);
        let (begin, mut timers) = (Instant::now(), Timers::new());
        for (hours, earliest) in [(3, 3), (1, 1), (2, 1)] {
            timers.set(None, HOUR * hours, Plan::Once(None), "", &shared);
            let sleep = timers.sleep.as_ref().unwrap();
            assert_eq!(sleep.deadline(), begin + HOUR * earliest, "after one of {hours} hours");
        }
        assert!(!shared.mailbox.signals().is_called());
        tokio::time::advance(HOUR).await;
        assert!(shared.mailbox.signals().is_called());
    }

    #[tokio::test]
    async fn a_tick_names_the_message_that_it_stands_for() {
        let shared = puppet(&system(), Guardian::User);
        let place = Timers::new().set(None, HOUR, Plan::Once(None), "", &shared);
        let tick: Envelope<Puppet> = Envelope::tick(place, "a message");
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
        let shared = puppet(&system(), Guardian::User);
        let (bomb, mut timers) = (Bomb, Timers::new());
        let make = Box::new(move || unreachable!("{}", size_of_val(&bomb)));
        timers.set(None, HOUR, Plan::Every(HOUR, MissedTick::Skip, make), "", &shared);
        drop(timers);
    }
}
