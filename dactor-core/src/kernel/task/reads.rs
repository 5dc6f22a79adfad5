//! Reads that run beside each other.
//!
//! The first read opens a *read phase*: the instance is borrowed as `&A`, and reads are taken from the mailbox and polled
//! together until a message that is not a read is next. That message closes the phase: it is kept aside, the reads that run
//! finish, and the message loop handles it.
//!
//! ```text
//!   read ─► open ── a write, a call, a failure, a stop, the last message of a drain ─► closed ── reads done ─► loop
//!            │ ▲                                                                          │ ▲
//!            ▼ │ a read is done                                                           ▼ │
//!           full (as many reads as may run at once)                          interleaved reads join
//! ```
//!
//! Full or closed, only messages that [interleave](crate::Interleaved) are taken, from wherever they wait.
//!
//! | mailbox | a pending phase is woken by | because |
//! | --- | --- | --- |
//! | open | a message, a call, a signal | the next message may run beside the reads |
//! | full, closed | a message that interleaves, a signal | others wait |
//!
//! A stop refuses what is queued at once: a read may wait for it, through another actor. A kill drops the reads.
//!
//! The instance of an actor that is not `Sync` cannot be borrowed across an await, and the task does not know which
//! actors are. The first read does, and gives the reference as a [`SharedActor`].

mod set;

use std::future::{Future, poll_fn};
use std::mem;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use self::set::{ReadInfo, ReadSet};
use super::hook::Killed;
use super::messages::next_message;
use super::teardown::Teardown;
use super::{ActorTask, LoopExit, TURN};
use crate::base::current::Reading;
use crate::delivery::access::SharedActor;
use crate::delivery::completion::Handled;
use crate::delivery::envelope::dispatch::{ReadDispatch, Route};
use crate::delivery::envelope::{Envelope, Sharing};
use crate::interceptor::api::Inbound;
use crate::kernel::actor_core::ActorCore;
use crate::kernel::cycles::Watch;
use crate::kernel::turn::Progress;
use crate::mailbox::{Ending, Park, Taken};
use crate::{Actor, Context, Error, ErrorKind, ReadContext, Result, StopReason};

/// How many reads of an actor run at once, and how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadLimits {
    pub(crate) reads: usize,
    pub(crate) interleaved: usize,
    /// A read that runs longer is an event; as the system says if this does not.
    pub(crate) slow: Option<Duration>,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self { reads: 64, interleaved: 64, slow: None }
    }
}

impl ReadLimits {
    pub(crate) fn check(&self) -> Result<()> {
        if self.reads == 0 || self.interleaved == 0 {
            let error = Error::new(ErrorKind::InvalidCapacity).with("reads", self.reads);
            let error = error.with("interleaved", self.interleaved);
            return Err(error.with("because", "an actor that runs no read could never answer one"));
        }
        Ok(())
    }
}

impl<A: Actor> ActorTask<A> {
    /// Runs reads, from this one up to the next message that is none: that message, if there is one.
    pub(super) async fn reads(
        &mut self,
        first: Envelope<A>,
        handled: &mut usize,
    ) -> Result<Option<Envelope<A>>, LoopExit> {
        let core = self.teardown.core.clone();
        let mut limits = self.options.as_ref().and_then(|options| options.reads).unwrap_or_default();
        limits.slow = limits.slow.or(core.meta.system().slow_read());
        let (write, failed) = {
            let Self { factory, ctx, teardown, inbound, .. } = self;
            let actor = factory.instance().and_then(|actor| first.share(actor));
            let Some(actor) = actor else { unreachable!("a read is handled by an instance that is `Sync`") };
            let mut set = pin!(ReadSet::default());
            let mut alarm = pin!(None);
            let mut phase = ReadPhase {
                core: &core,
                actor,
                inbound: inbound.as_ref(),
                limits,
                ctx,
                teardown,
                first: Some(first),
                write: None,
                failed: Vec::new(),
                door: Door::Open,
                polled_open: false,
                joining: Vec::new(),
                watch: Watch::of_reads(),
            };
            let ended = poll_fn(|cx| phase.poll(set.as_mut(), alarm.as_mut(), handled, cx)).await;
            if ended.is_err() {
                return Err(LoopExit::Lost(StopReason::Killed));
            }
            if !phase.failed.is_empty() || core.mailbox.ending() >= Ending::Stop {
                phase.give_write_back();
            }
            (phase.write.take(), mem::take(&mut phase.failed))
        };
        let generation = core.meta.family().generation();
        for (message, handled) in failed {
            if core.meta.family().generation() == generation {
                self.conclude(Ok(handled), message).await?;
            } else {
                // Its instance is gone already.
                self.report(handled, message);
            }
        }
        Ok(write)
    }
}

/// Whether further messages are taken in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    Open,
    /// Until the reads that run are done.
    Closed,
    /// The same, and what was queued is refused: the actor stops.
    Stopped,
}

/// What a phase does next.
enum Next {
    /// Polls its reads.
    Poll,
    Wait,
    /// Gives way to others: the turn's budget is spent.
    Pause,
    End,
    Killed,
}

struct ReadPhase<'a, A: Actor> {
    core: &'a Arc<ActorCore<A>>,
    actor: &'a dyn SharedActor<A>,
    inbound: Option<&'a Arc<[Arc<dyn Inbound>]>>,
    limits: ReadLimits,
    ctx: &'a mut Context<A>,
    teardown: &'a mut Teardown<A>,
    /// Until the phase is polled.
    first: Option<Envelope<A>>,
    /// The message that closed the phase.
    write: Option<Envelope<A>>,
    /// What is left to the supervision, in the order in which it came.
    failed: Vec<(&'static str, Handled)>,
    door: Door,
    /// A read was polled while another one could begin, and may have to know when none can any more.
    polled_open: bool,
    joining: Vec<Envelope<A>>,
    watch: Watch,
}

impl<'a, A: Actor> ReadPhase<'a, A> {
    fn poll(
        &mut self,
        mut set: Pin<&mut ReadSet<'a>>,
        mut alarm: Pin<&mut Option<Sleep>>,
        handled: &mut usize,
        cx: &mut TaskContext<'_>,
    ) -> Poll<Result<(), Killed>> {
        let mut polls = true;
        match self.first.take() {
            // A message that left the queue is handled at least to its first await.
            Some(first) => {
                self.start(first, set.as_mut(), cx);
                polls = false;
            }
            None if self.core.mailbox.ending() == Ending::Kill => return Poll::Ready(Err(Killed)),
            None => {}
        }
        loop {
            if mem::replace(&mut polls, true) {
                self.poll_reads(set.as_mut(), cx);
            }
            match self.take(set.as_mut(), handled, cx) {
                Next::Poll => {}
                // A read may wait for one that is held up from here on.
                Next::Wait if self.polled_open && !self.is_open(&set) => {}
                Next::Wait if self.poll_alarm(set.as_mut(), alarm.as_mut(), cx) => {}
                Next::Wait | Next::Pause => return Poll::Pending,
                Next::End => return Poll::Ready(Ok(())),
                Next::Killed => return Poll::Ready(Err(Killed)),
            }
        }
    }

    /// Whether another read may begin now.
    fn is_open(&self, set: &ReadSet<'_>) -> bool {
        self.door == Door::Open && set.reads() < self.limits.reads
    }

    /// Polls the reads that run.
    fn poll_reads(&mut self, mut set: Pin<&mut ReadSet<'a>>, cx: &mut TaskContext<'_>) {
        let is_open = self.is_open(&set);
        let Self { core, ctx, failed, door, watch, .. } = self;
        let entered = core.enter();
        let reading = Reading::enter(core.meta.pid(), is_open);
        let mut is_done = |info, handled| finish(core, ctx, failed, door, info, handled);
        if core.meta.detects_cycles() && !is_open {
            let mut all = pin!(poll_fn(|cx| {
                let any = set.as_mut().poll_all(cx, &mut is_done);
                if any { Poll::Ready(()) } else { Poll::Pending }
            }));
            // Those that are left may wait in a cycle.
            while watch.poll(&core.meta, all.as_mut(), cx).is_ready() {}
        } else {
            watch.leave_table();
            set.as_mut().poll_all(cx, is_done);
        }
        self.polled_open = is_open && (reading.waits_for_itself() || core.meta.detects_cycles());
        drop(reading);
        drop(entered);
    }

    /// Begins a read.
    fn start(&mut self, envelope: Envelope<A>, set: Pin<&mut ReadSet<'a>>, cx: &mut TaskContext<'_>) {
        let interleaved = envelope.sharing() == Sharing::Interleaved;
        let info = ReadInfo {
            message: envelope.message_type(),
            interleaved,
            counts: self.ctx.counts_as_activity(&envelope),
            watched_since: self.limits.slow.map(|_| Instant::now()),
        };
        let is_open = self.door == Door::Open && set.reads() + usize::from(!interleaved) < self.limits.reads;
        let Self { core, ctx, failed, door, teardown, .. } = self;
        let route = Route { target: &***core, inbound: self.inbound, behind: teardown.batch.len() };
        let entered = core.enter();
        let reading = Reading::enter(core.meta.pid(), is_open);
        let context = ReadDispatch { actor: self.actor, ctx: ReadContext::new((*core).clone()), route };
        let running = envelope.dispatch_read(context);
        if let Some((info, handled)) = set.start(running, info, cx) {
            finish(core, ctx, failed, door, info, handled);
        } else if is_open {
            self.polled_open |= reading.waits_for_itself() || core.meta.detects_cycles();
        }
        drop(reading);
        drop(entered);
    }

    /// Begins an interleaved read, or refuses it.
    fn join(&mut self, envelope: Envelope<A>, set: Pin<&mut ReadSet<'a>>, cx: &mut TaskContext<'_>) {
        let limit = self.limits.interleaved;
        if set.interleaved() < limit {
            self.start(envelope, set, cx);
        } else {
            self.core.refuse_interleaved(envelope, limit);
        }
    }

    /// Takes messages as far as they run beside the reads.
    fn take(
        &mut self,
        mut set: Pin<&mut ReadSet<'a>>,
        handled: &mut usize,
        cx: &mut TaskContext<'_>,
    ) -> Next {
        loop {
            let signals = self.core.mailbox.signals();
            match signals.ending() {
                Ending::Kill => return Next::Killed,
                Ending::Stop => self.refuse_queued(),
                Ending::None | Ending::Drain => {}
            }
            if !self.is_open(&set) {
                return self.take_interleaved(signals.ending(), set, handled, cx);
            }
            if *handled >= TURN {
                return self.end_turn(&set, handled);
            }
            let batch = &self.teardown.batch;
            if signals.is_called() && (batch.is_empty() || !self.core.mailbox.is_bounded()) {
                self.door = Door::Closed;
                continue;
            }
            let Some(envelope) = next_message(self.ctx, self.teardown, signals) else {
                if set.is_empty() {
                    return Next::End;
                }
                match self.core.mailbox.take(&mut self.teardown.batch, Park::Reading(cx.waker())) {
                    Taken::Some => continue,
                    Taken::Parked => return Next::Wait,
                    // Nothing comes any more, or the housekeeping needs the actor.
                    Taken::Ending | Taken::Called => {
                        self.door = Door::Closed;
                        continue;
                    }
                }
            };
            *handled += 1;
            match envelope.sharing() {
                Sharing::Read => self.start(envelope, set.as_mut(), cx),
                Sharing::Interleaved => self.join(envelope, set.as_mut(), cx),
                Sharing::Exclusive => {
                    self.write = Some(envelope);
                    self.door = Door::Closed;
                }
            }
        }
    }

    /// Takes the messages that do not wait for the reads that run.
    fn take_interleaved(
        &mut self,
        seen: Ending,
        mut set: Pin<&mut ReadSet<'a>>,
        handled: &mut usize,
        cx: &mut TaskContext<'_>,
    ) -> Next {
        if set.is_empty() {
            return Next::End;
        }
        if *handled >= TURN {
            return self.end_turn(&set, handled);
        }
        let batch = &mut self.teardown.batch;
        let signals = self.core.mailbox.join_or_wait(batch, &mut self.joining, cx.waker());
        if self.joining.is_empty() {
            return if signals.ending() == seen { Next::Wait } else { Next::Poll };
        }
        for envelope in mem::take(&mut self.joining) {
            *handled += 1;
            self.join(envelope, set.as_mut(), cx);
        }
        Next::Poll
    }

    /// The turn's budget is spent.
    fn end_turn(&self, set: &ReadSet<'_>, handled: &mut usize) -> Next {
        if set.is_empty() {
            return Next::End;
        }
        *handled = 0;
        self.core.meta.poll_state().report(Progress::Spent);
        Next::Pause
    }

    /// The actor stops when its reads are done. One of them may wait for a message in the mailbox.
    fn refuse_queued(&mut self) {
        if mem::replace(&mut self.door, Door::Stopped) != Door::Stopped {
            self.give_write_back();
            self.teardown.close();
        }
    }

    /// The message that closed the phase is not handled next.
    fn give_write_back(&mut self) {
        if let Some(write) = self.write.take() {
            self.core.mailbox.give_back(write, self.ctx.lane());
        }
    }

    /// Reports the reads that run too long. Whether there may be another one to report.
    fn poll_alarm(
        &self,
        set: Pin<&mut ReadSet<'a>>,
        mut alarm: Pin<&mut Option<Sleep>>,
        cx: &mut TaskContext<'_>,
    ) -> bool {
        let Some(limit) = self.limits.slow else { return false };
        let events = self.core.meta.system().events();
        let next = set.report_slow(limit, |message| events.slow_read(&**self.core, message, limit));
        let Some(next) = next else { return false };
        match alarm.as_mut().as_pin_mut() {
            Some(alarm) => alarm.reset(next),
            None => alarm.set(Some(tokio::time::sleep_until(next))),
        }
        alarm.as_pin_mut().is_some_and(|alarm| alarm.poll(cx).is_ready())
    }
}

/// A cell may be dropped by anyone, in the middle of its reads.
impl<A: Actor> Drop for ReadPhase<'_, A> {
    fn drop(&mut self) {
        self.give_write_back();
    }
}

/// A read is done, and its asker is answered.
fn finish<A: Actor>(
    core: &ActorCore<A>,
    ctx: &mut Context<A>,
    failed: &mut Vec<(&'static str, Handled)>,
    door: &mut Door,
    info: ReadInfo,
    handled: Handled,
) {
    if info.counts {
        ctx.is_active();
    }
    let events = core.meta.system().events();
    match handled {
        Handled::Done => {}
        Handled::AskerGone => events.asker_gone(core, info.message),
        Handled::ReplyDropped => events.reply_dropped(core, info.message),
        failure @ (Handled::Failed(..) | Handled::Panicked(_)) => {
            failed.push((info.message, failure));
            if *door == Door::Open {
                *door = Door::Closed;
            }
        }
    }
}
