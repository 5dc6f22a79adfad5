//! The timers of one actor. No tasks: one sleep is set to the earliest of them, and its waker
//! [calls](crate::mailbox::Mailbox::call) the cell.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context as TaskContext, Waker};
use std::time::Duration;

use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

use super::TimerKey;
use super::missed::{MissedTick, later};
use crate::Actor;
use crate::envelope::Envelope;
use crate::panic::{Panic, contain, discard};
use crate::shared::{Control, Shared};

/// Makes the message of a timer that fires more than once.
pub(super) type Make<A> = Box<dyn FnMut() -> Envelope<A> + Send>;

/// What a timer does.
pub(super) enum Plan<A> {
    /// The message is there until it fires.
    Once(Duration, Option<Envelope<A>>),
    Every(Duration, MissedTick, Make<A>),
    /// Fires when no message has been handled for so long.
    Idle(Duration, Make<A>),
}

impl<A> Plan<A> {
    fn first(&self) -> Duration {
        match self {
            Self::Once(after, _) | Self::Every(after, ..) | Self::Idle(after, _) => *after,
        }
    }
}

struct Timer<A> {
    key: TimerKey,
    plan: Plan<A>,
    message: &'static str,
    /// When it is due, or was if its tick is in the mailbox.
    at: Instant,
}

/// The timers of one actor.
pub(crate) struct Timers<A: Actor> {
    /// The number of the newest timer. Never used again, not even after a restart: a tick in the mailbox finds no other
    /// timer than its own.
    last: u64,
    timers: HashMap<u64, Timer<A>>,
    numbers: HashMap<TimerKey, u64>,
    /// Those whose tick is not in the mailbox.
    due: BTreeSet<(Instant, u64)>,
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
            timers: HashMap::new(),
            numbers: HashMap::new(),
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
        plan: Plan<A>,
        message: &'static str,
        shared: &Arc<Shared<A>>,
    ) -> TimerKey {
        self.last += 1;
        let key = key.unwrap_or_else(|| TimerKey::unnamed(self.last));
        let now = Instant::now();
        if let Plan::Idle(..) = plan {
            self.active = now;
        }
        let at = later(now, plan.first());
        let replaced = self.numbers.insert(key.clone(), self.last);
        self.timers.insert(self.last, Timer { key: key.clone(), plan, message, at });
        self.due.insert((at, self.last));
        self.arm(now, shared);
        if let Some(replaced) = replaced {
            self.remove(replaced);
        }
        key
    }

    pub(super) fn cancel(&mut self, key: &TimerKey) -> bool {
        let Some(number) = self.numbers.remove(key) else { return false };
        self.remove(number).is_some()
    }

    /// Cancels them all.
    pub(super) fn clear(&mut self) {
        self.numbers.clear();
        self.due.clear();
        (self.armed, self.sleep) = (None, None);
        // Messages of the user's.
        self.timers.drain().for_each(|(_, timer)| discard(timer));
    }

    /// Takes a timer out whose key is gone, or is another's by now.
    fn remove(&mut self, number: u64) -> Option<Timer<A>> {
        let timer = self.timers.remove(&number)?;
        self.due.remove(&(timer.at, number));
        Some(timer)
    }

    /// A message has been handled.
    pub(super) fn is_active(&mut self) {
        self.active = Instant::now();
    }

    /// Puts a tick of everything that is due into the mailbox.
    pub(super) fn ring(&mut self, shared: &Arc<Shared<A>>) {
        let now = Instant::now();
        while let Some(&(at, number)) = self.due.first().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, number));
            let Some(timer) = self.timers.get_mut(&number) else { continue };
            if let Plan::Idle(after, _) = &timer.plan
                && let Some(quiet) = not_yet(*after, self.active, now)
            {
                timer.at = quiet;
                self.due.insert((quiet, number));
                continue;
            }
            match shared.mailbox.notify(Envelope::tick(number, timer.message)) {
                Ok(nudge) => shared.head.act(nudge),
                // An actor that ends accepts nothing more.
                Err(_) => self.forget(number),
            }
        }
        self.armed = self.armed.filter(|armed| *armed > now);
        self.arm(now, shared);
    }

    /// The message of a tick, if its timer is still wanted. What fires again is set again.
    pub(super) fn claim(
        &mut self,
        number: u64,
        shared: &Arc<Shared<A>>,
    ) -> Option<Result<Envelope<A>, Panic>> {
        let now = Instant::now();
        let timer = self.timers.get_mut(&number)?;
        let (next, made) = match &mut timer.plan {
            Plan::Once(_, envelope) => (None, envelope.take().map(Ok)),
            Plan::Every(period, missed, make) => {
                (Some(missed.next(timer.at, now, *period)), Some(contain(make)))
            }
            Plan::Idle(after, make) => match not_yet(*after, self.active, now) {
                Some(quiet) => (Some(quiet), None),
                None => (Some(later(now, *after)), Some(contain(make))),
            },
        };
        match next {
            Some(at) => {
                timer.at = at;
                self.due.insert((at, number));
                self.arm(now, shared);
            }
            None => self.forget(number),
        }
        made
    }

    /// A timer is over, and its key is free.
    fn forget(&mut self, number: u64) {
        if let Some(timer) = self.timers.remove(&number) {
            self.numbers.remove(&timer.key);
            discard(timer);
        }
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

/// Until when the actor has to be quiet, if its idle timeout has not come.
fn not_yet(after: Duration, active: Instant, now: Instant) -> Option<Instant> {
    Some(later(active, after)).filter(|quiet| *quiet > now)
}
