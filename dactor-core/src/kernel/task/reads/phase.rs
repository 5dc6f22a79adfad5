//! One read phase: what it takes, polls and waits for.

use std::future::{Future, poll_fn};
use std::mem;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use tokio::time::{Instant, Sleep};

use super::ReadLimits;
use super::set::{ReadInfo, ReadSet};
use crate::base::current::Reading;
use crate::delivery::access::SharedActor;
use crate::delivery::completion::{Finished, Incident, Report};
use crate::delivery::envelope::dispatch::{InboundChain, ReadDispatch, Route};
use crate::delivery::envelope::{Envelope, Sharing};
use crate::interceptor::api::Inbound;
use crate::kernel::actor_core::ActorCore;
use crate::kernel::cycles::Watch;
use crate::kernel::task::TURN;
use crate::kernel::task::hook::Killed;
use crate::kernel::task::messages::next_message;
use crate::kernel::task::teardown::Teardown;
use crate::kernel::turn::Progress;
use crate::mailbox::{Ending, Park, Signals, Taken};
use crate::{Actor, Context, ReadContext};

/// Whether further messages are taken in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
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

pub(super) struct ReadPhase<'a, A: Actor> {
    pub(super) core: &'a Arc<ActorCore<A>>,
    pub(super) actor: &'a dyn SharedActor<A>,
    pub(super) inbound: Option<&'a Arc<[Arc<dyn Inbound>]>>,
    pub(super) limits: ReadLimits,
    pub(super) ctx: &'a mut Context<A>,
    pub(super) teardown: &'a mut Teardown<A>,
    /// Until the phase is polled.
    pub(super) first: Option<Envelope<A>>,
    /// The message that closed the phase.
    pub(super) write: Option<Envelope<A>>,
    /// Failures that are left to the supervision, in their order.
    pub(super) failed: Vec<Report>,
    pub(super) door: Door,
    /// A read was polled while another one could begin, and may have to be polled again when none can.
    pub(super) polled_open: bool,
    pub(super) joining: Vec<Envelope<A>>,
    pub(super) watch: Watch,
}

impl<'a, A: Actor> ReadPhase<'a, A> {
    pub(super) fn poll(
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
                // A read may wait for a message that is held up from here on.
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
        let mut is_done = |info, finished| finish(core, ctx, failed, door, info, finished);
        if core.meta.detects_cycles() && !is_open {
            let mut all = pin!(poll_fn(|cx| {
                let any = set.as_mut().poll_all(cx, &mut is_done);
                if any { Poll::Ready(()) } else { Poll::Pending }
            }));
            // The remaining reads may wait in a cycle.
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
        // Before the message is claimed: its asker may be listed as blocked by reads that it could join.
        self.watch.leave_table();
        let interleaved = envelope.sharing() == Sharing::Interleaved;
        let info = ReadInfo {
            message: envelope.message_type(),
            interleaved,
            counts: self.ctx.counts_as_activity(&envelope),
            watched_since: self.limits.slow.map(|_| Instant::now()),
        };
        let is_open = self.door == Door::Open && set.reads() + usize::from(!interleaved) < self.limits.reads;
        let Self { core, ctx, failed, door, teardown, .. } = self;
        let inbound = self.inbound.map(|chain| InboundChain { chain, behind: teardown.batch.len() });
        let route = Route { target: &***core, inbound };
        let entered = core.enter();
        let reading = Reading::enter(core.meta.pid(), is_open);
        let read_ctx = ReadContext::new((*core).clone(), ctx.gate().map(|gate| (gate, ctx.is_activity())));
        let context = ReadDispatch { actor: self.actor, ctx: read_ctx, route };
        let running = envelope.dispatch_read(context);
        if let Some((info, finished)) = set.start(running, info, cx) {
            finish(core, ctx, failed, door, info, finished);
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
            if self.is_called(signals) {
                self.answer_call();
                continue;
            }
            let Some(envelope) = next_message(self.ctx, self.teardown, signals) else {
                if set.is_empty() {
                    return Next::End;
                }
                match self.core.mailbox.take(&mut self.teardown.batch, Park::Reading(cx.waker())) {
                    Taken::Some => {}
                    Taken::Parked => return Next::Wait,
                    Taken::Called => self.answer_call(),
                    // No more messages come.
                    Taken::Ending => self.door = Door::Closed,
                }
                continue;
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

    fn is_called(&self, signals: Signals) -> bool {
        signals.is_called() && (self.teardown.batch.is_empty() || !self.core.mailbox.is_bounded())
    }

    /// Queues the timers that are due. What the actor's family wants needs the actor.
    fn answer_call(&mut self) {
        let Self { core, ctx, .. } = self;
        core.mailbox.answer_call();
        ctx.fire_due_timers();
        if core.meta.family().has_requests() {
            core.meta.wake(core.mailbox.call());
            self.door = Door::Closed;
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
            self.teardown.close(self.ctx.lifecycle());
        }
    }

    /// The message that closed the phase is not handled next.
    pub(super) fn give_write_back(&mut self) {
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

/// A backend may drop a cell in the middle of its reads.
impl<A: Actor> Drop for ReadPhase<'_, A> {
    fn drop(&mut self) {
        self.give_write_back();
    }
}

/// A read is done, and its asker is answered.
fn finish<A: Actor>(
    core: &ActorCore<A>,
    ctx: &mut Context<A>,
    failed: &mut Vec<Report>,
    door: &mut Door,
    info: ReadInfo,
    finished: Finished,
) {
    if info.counts {
        ctx.is_active();
    }
    let Err(report) = finished else { return };
    let events = core.meta.system().events();
    match report.incident {
        Incident::AskerGone => events.asker_gone(core, info.message),
        Incident::ReplyDropped => events.reply_dropped(core, info.message),
        Incident::Failed(..) | Incident::Panicked(_) => {
            failed.push(*report);
            if *door == Door::Open {
                *door = Door::Closed;
            }
        }
    }
}
