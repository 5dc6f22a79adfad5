//! The message loop.

use std::pin::pin;

use super::hook::{Killed, error, guarded};
use super::refill::refill;
use super::teardown::Teardown;
use super::{ActorTask, LoopExit, TURN, pause};
use crate::delivery::completion::{Finished, Incident, Report};
use crate::delivery::envelope::dispatch::{DispatchContext, InboundChain, Route};
use crate::delivery::envelope::{Envelope, Sharing};
use crate::kernel::actor_core::ActorCore;
use crate::kernel::family::FamilyRequest;
use crate::kernel::linger::Linger;
use crate::kernel::turn::Progress;
use crate::mailbox::{Ending, Signals};
use crate::{Actor, Context, ErrorKind, StopReason};

/// What the message loop does before it takes the next message.
#[derive(Clone, Copy)]
enum Due {
    Stop,
    Kill,
    /// The cell was called for housekeeping.
    Housekeeping,
    /// The turn's budget is spent.
    EndOfTurn,
}

/// What the message loop has to know of a message before its handler runs.
#[derive(Clone, Copy)]
struct Attention {
    /// It runs beside others.
    reads: bool,
    /// It delays the idle timeout when it is done.
    counts: bool,
}

impl<A: Actor> ActorTask<A> {
    /// Handles messages until the actor has to end.
    pub(super) async fn messages(&mut self) -> LoopExit {
        let mut handled = 0;
        let mut linger = Linger::default();
        loop {
            let signals = self.teardown.core.mailbox.signals();
            if let Some(due) = self.due(signals, handled) {
                match due {
                    Due::Stop => return LoopExit::Sound(StopReason::Stopped),
                    Due::Kill => return LoopExit::Lost(StopReason::Killed),
                    Due::Housekeeping => {
                        if let Err(exit) = Box::pin(self.run_housekeeping()).await {
                            return exit;
                        }
                    }
                    Due::EndOfTurn => {
                        handled = 0;
                        pause(self.teardown.core.meta.poll_state(), Progress::Spent).await;
                    }
                }
                continue;
            }
            let Some((envelope, attention)) = self.next_message(signals) else {
                let Teardown { core, batch, .. } = &mut self.teardown;
                if !refill(core, batch, &mut linger, &mut handled).await {
                    return LoopExit::Sound(StopReason::Drained);
                }
                continue;
            };
            handled += 1;
            // Not borrowed from here on: a borrowed envelope would be stored in the cell with each message.
            let (envelope, counts) = if attention.reads {
                match Box::pin(self.reads(envelope, &mut handled)).await {
                    Ok(Some(write)) => write,
                    Ok(None) => continue,
                    Err(exit) => return exit,
                }
            } else {
                (envelope, attention.counts)
            };
            // Pinned in place: a running handler is large, and moving it would dominate the cost of a tell.
            let outcome = {
                let (core, context) = self.dispatch_context();
                let running = pin!(envelope.dispatch(context));
                guarded(core, running).await
            };
            if counts {
                self.ctx.is_active();
            }
            let Some(report) = self.finish(outcome) else { continue };
            if let Err(exit) = Box::pin(self.conclude_or_end(report)).await {
                return exit;
            }
        }
    }

    #[inline(always)]
    fn due(&self, signals: Signals, handled: usize) -> Option<Due> {
        let Teardown { core, batch, .. } = &self.teardown;
        match signals.ending() {
            Ending::None | Ending::Drain => {}
            Ending::Stop => return Some(Due::Stop),
            Ending::Kill => return Some(Due::Kill),
        }
        if signals.is_called() && (batch.is_empty() || !core.mailbox.is_bounded()) {
            return Some(Due::Housekeeping);
        }
        (handled >= TURN).then_some(Due::EndOfTurn)
    }

    #[inline(always)]
    fn next_message(&mut self, signals: Signals) -> Option<(Envelope<A>, Attention)> {
        let Self { ctx, teardown, .. } = self;
        let envelope = next_message(ctx, teardown, signals)?;
        let attention = Attention {
            reads: envelope.sharing() != Sharing::Exclusive,
            counts: ctx.counts_as_activity(&envelope),
        };
        Some((envelope, attention))
    }

    #[inline(always)]
    fn dispatch_context(&mut self) -> (&ActorCore<A>, DispatchContext<'_, A>) {
        let Self { factory, ctx, teardown: Teardown { core, batch, .. }, inbound, .. } = self;
        let core = &**core;
        let Some(actor) = factory.instance() else { unreachable!("a failed restart ends the loop") };
        let inbound = inbound.as_ref().map(|chain| InboundChain { chain, behind: batch.len() });
        (core, DispatchContext { actor, ctx, route: Route { target: core, inbound } })
    }

    /// Ends a message. What follows, if it was not handled normally.
    #[inline(always)]
    fn finish(&mut self, outcome: Result<Finished, Killed>) -> Option<Result<Box<Report>, Killed>> {
        let message = match outcome {
            Ok(Ok(message)) => message,
            Ok(Err(report)) => return Some(Ok(report)),
            Err(Killed) => return Some(Err(Killed)),
        };
        let panic = self.ctx.finish_message().err()?;
        Some(Ok(Report::new(message.map_or("", |name| name()), Incident::Panicked(panic))))
    }

    async fn conclude_or_end(&mut self, report: Result<Box<Report>, Killed>) -> Result<(), LoopExit> {
        match report {
            Ok(report) => self.conclude(*report).await,
            Err(Killed) => Err(LoopExit::Lost(StopReason::Killed)),
        }
    }

    /// Handles timers and family requests.
    async fn run_housekeeping(&mut self) -> Result<(), LoopExit> {
        self.teardown.core.mailbox.answer_call();
        self.ctx.fire_due_timers();
        // One by one: a restart discards all earlier requests.
        while let Some(request) = self.teardown.core.meta.family().next_request() {
            match request {
                FamilyRequest::Restart { failure, after } => {
                    self.restart_with_sibling(failure, after).await?
                }
                FamilyRequest::ChildFailed { child, failure } => {
                    let error = error(&*self.teardown.core, ErrorKind::ChildFailed).with("child", child);
                    self.fail(error.because(failure), None).await?;
                }
            }
        }
        Ok(())
    }
}

/// The next message of the batch that the cell has taken.
#[inline(always)]
pub(super) fn next_message<A: Actor>(
    ctx: &mut Context<A>,
    Teardown { core, batch, .. }: &mut Teardown<A>,
    signals: Signals,
) -> Option<Envelope<A>> {
    let taken = ctx.set_taken(signals);
    if signals.overtaken() { core.mailbox.pick(batch, taken) } else { batch.pop_front() }
}
