//! Timers: messages an actor sends itself once, periodically, or when idle.
//!
//! ```text
//!   after · every · idle_timeout ─► table ── the earliest ─► one sleep ── its waker ─► Mailbox::call
//!                                     ▲                                                    │ between two messages
//!                cancelled? re-armed? │                                                    ▼
//!                       handler ◄─────┴────── mailbox ◄── a tick at the back, regardless of the bound
//! ```

mod key;
mod missed;
mod table;
mod tick;

use std::fmt;
use std::time::Duration;

pub use key::TimerKey;
pub use missed::MissedTick;
use table::{Make, Plan};
pub(crate) use table::{TimerSlot, Timers};

use crate::base::exclusive::Exclusive;
use crate::base::panic::Panic;
use crate::delivery::envelope::Envelope;
use crate::{Actor, Context, Error, ErrorKind, Headers, Result, SentTo};

/// Timers. They belong to the instance: a restart and every end of the actor cancel all of them.
///
/// A due timer queues its message between two messages, at the back of the mailbox, without needing room in a
/// bounded mailbox. The message is told: interceptors see it, and its failure is handled as usual. No timer
/// fires while the actor is [draining](crate::ActorRef::drain) or in `on_stop`.
impl<A: Actor> Context<A> {
    /// Sends this actor a message after a delay. The returned key [cancels](Self::cancel_timer) it.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use dactor_core::{Actor, Context, Handler, Message, Outcome};
    /// # struct Connection;
    /// # struct GiveUp;
    /// # impl Message for GiveUp { type Reply = (); type Access = dactor_core::Exclusive; }
    /// # impl Handler<GiveUp> for Connection {
    /// #     async fn handle(&mut self, _: GiveUp, ctx: &mut Context<Self>) -> Outcome<()> { Ok(ctx.stop()) }
    /// # }
    /// impl Actor for Connection {
    ///     async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
    ///         ctx.after(Duration::from_secs(30), GiveUp)?;
    ///         Ok(())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidTimer`](ErrorKind::InvalidTimer) when the delay is zero: use `tell` for an immediate message.
    pub fn after<M: SentTo<A>>(&mut self, delay: Duration, message: M) -> Result<TimerKey> {
        let plan = Plan::Once(Some(message.into_tell(Headers::default())));
        self.set_timer::<M>(None, plan, delay).map(|slot| TimerKey::unnamed(Some(slot)))
    }

    /// Sends this actor a message periodically, the first after one period. Missed ticks are
    /// [skipped](MissedTick::Skip); [`timer`](Self::timer) offers other policies.
    ///
    /// # Errors
    ///
    /// [`InvalidTimer`](ErrorKind::InvalidTimer) when the period is zero.
    pub fn every<M: SentTo<A>>(
        &mut self,
        period: Duration,
        make: impl FnMut() -> M + Send + 'static,
    ) -> Result<TimerKey> {
        let plan = Plan::Every(period, MissedTick::default(), telling(make));
        self.set_timer::<M>(None, plan, period).map(|slot| TimerKey::unnamed(Some(slot)))
    }

    /// A timer with a key, to be set. It replaces a timer with the same key, even if that has fired and its
    /// message is still in the mailbox.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use dactor_core::{Actor, Context, Handler, Message, MissedTick, Outcome};
    /// # struct Sensor;
    /// # impl Actor for Sensor {}
    /// struct Sample;
    /// # impl Message for Sample { type Reply = (); type Access = dactor_core::Exclusive; }
    /// # impl Handler<Sample> for Sensor {
    /// #     async fn handle(&mut self, _: Sample, _: &mut Context<Self>) -> Outcome<()> { Ok(()) }
    /// # }
    /// struct Rate(Option<Duration>);
    /// # impl Message for Rate { type Reply = (); type Access = dactor_core::Exclusive; }
    ///
    /// impl Handler<Rate> for Sensor {
    ///     async fn handle(&mut self, Rate(rate): Rate, ctx: &mut Context<Self>) -> Outcome<()> {
    ///         match rate {
    ///             Some(period) => ctx.timer("sample").missed(MissedTick::Delay).every(period, || Sample)?,
    ///             None => assert!(ctx.cancel_timer("sample"), "it was on"),
    ///         }
    ///         Ok(())
    ///     }
    /// }
    /// ```
    pub fn timer(&mut self, key: impl Into<TimerKey>) -> Timer<'_, A> {
        Timer { key: key.into(), missed: MissedTick::default(), ctx: self }
    }

    /// Cancels a timer. Its message is not handled, even if it is already in the mailbox. `false` when there
    /// was no such timer.
    pub fn cancel_timer(&mut self, key: impl Into<TimerKey>) -> bool {
        let key = key.into();
        self.timers.as_mut().is_some_and(|timers| timers.get().cancel(&key))
    }

    /// Sends this actor a message when it has been idle for this long, and again for as long as it stays
    /// idle.
    ///
    /// The time counts from the end of the last message. What the kernel sends counts for nothing: messages of timers,
    /// this one's among them, and [`Terminated`](crate::Terminated); nor do messages of a type that says so
    /// ([`Message::KEEP_ALIVE`](crate::Message::KEEP_ALIVE)), nor the items of a stream request. There is one idle timeout; another
    /// replaces it.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use dactor_core::{Actor, Context, Handler, Message, Outcome};
    /// # struct Session;
    /// # struct Forgotten;
    /// # impl Message for Forgotten { type Reply = (); type Access = dactor_core::Exclusive; }
    /// impl Actor for Session {
    ///     async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
    ///         Ok(ctx.idle_timeout(Duration::from_secs(600), || Forgotten)?)
    ///     }
    /// }
    ///
    /// impl Handler<Forgotten> for Session {
    ///     async fn handle(&mut self, _: Forgotten, ctx: &mut Context<Self>) -> Outcome<()> {
    ///         Ok(ctx.stop())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidTimer`](ErrorKind::InvalidTimer) when the duration is zero.
    pub fn idle_timeout<M: SentTo<A>>(
        &mut self,
        after: Duration,
        make: impl FnMut() -> M + Send + 'static,
    ) -> Result<()> {
        self.set_timer::<M>(Some(TimerKey::IDLE), Plan::Idle(after, telling(make)), after)?;
        self.idles = true;
        Ok(())
    }

    /// Cancels the idle timeout. `false` when there was none.
    pub fn cancel_idle_timeout(&mut self) -> bool {
        self.set_not_idling();
        self.cancel_timer(TimerKey::IDLE)
    }

    fn set_timer<M: SentTo<A>>(
        &mut self,
        key: Option<TimerKey>,
        plan: Plan<A>,
        time: Duration,
    ) -> Result<TimerSlot> {
        let core = &self.myself.core;
        if time.is_zero() {
            let key = key.unwrap_or_else(|| TimerKey::unnamed(None));
            let error = Error::new(ErrorKind::InvalidTimer).about(&**core);
            let error = error.with("message", M::type_name()).with("timer", key);
            return Err(error.with("because", "its duration is zero"));
        }
        let timers = self.timers.get_or_insert_with(|| Box::new(Exclusive::new(Timers::new())));
        Ok(timers.get().set(key, time, plan, M::type_name(), core))
    }

    /// Resets the idle timeout after a message.
    pub(crate) fn is_active(&mut self) {
        self.timers.iter_mut().for_each(|timers| timers.get().is_active());
    }

    /// Puts due ticks into the mailbox.
    pub(crate) fn fire_due_timers(&mut self) {
        self.timers.iter_mut().for_each(|timers| timers.get().fire_due_timers(&self.myself.core));
    }

    /// The message of a tick, unless its timer was cancelled.
    fn claims_tick(&mut self, slot: TimerSlot) -> Option<Result<Envelope<A>, Panic>> {
        self.timers.as_mut()?.get().claim(slot, &self.myself.core)
    }

    pub(crate) fn cancel_timers(&mut self) {
        self.set_not_idling();
        self.timers.iter_mut().for_each(|timers| timers.get().clear());
    }
}

fn telling<A: Actor, M: SentTo<A>>(mut make: impl FnMut() -> M + Send + 'static) -> Make<A> {
    Box::new(move || make().into_tell(Headers::default()))
}

/// A timer with a key, to be set: from [`Context::timer`].
#[must_use = "the timer is not set yet"]
pub struct Timer<'a, A: Actor> {
    ctx: &'a mut Context<A>,
    key: TimerKey,
    missed: MissedTick,
}

impl<A: Actor> Timer<'_, A> {
    /// The policy for missed ticks.
    pub fn missed(mut self, missed: MissedTick) -> Self {
        self.missed = missed;
        self
    }

    /// Sends the actor a message after a delay.
    ///
    /// # Errors
    ///
    /// [`InvalidTimer`](ErrorKind::InvalidTimer) when the delay is zero. Another timer with this key is
    /// unchanged.
    pub fn after<M: SentTo<A>>(self, delay: Duration, message: M) -> Result<()> {
        let plan = Plan::Once(Some(message.into_tell(Headers::default())));
        self.ctx.set_timer::<M>(Some(self.key), plan, delay).map(drop)
    }

    /// Sends the actor a message periodically, the first after one period.
    ///
    /// # Errors
    ///
    /// [`InvalidTimer`](ErrorKind::InvalidTimer) when the period is zero. Another timer with this key is
    /// unchanged.
    pub fn every<M: SentTo<A>>(
        self,
        period: Duration,
        make: impl FnMut() -> M + Send + 'static,
    ) -> Result<()> {
        let plan = Plan::Every(period, self.missed, telling(make));
        self.ctx.set_timer::<M>(Some(self.key), plan, period).map(drop)
    }
}

impl<A: Actor> fmt::Debug for Timer<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").field("key", &self.key).field("missed", &self.missed).finish_non_exhaustive()
    }
}
