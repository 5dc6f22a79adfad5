//! The life of one actor, as one future: start, messages, restarts, stop.
//!
//! ```text
//!   factory ─► on_start ─► Started ─► take ─► handle ─► … ─► on_stop ─► ended
//!                 │                     ▲        │ failed
//!                 │ failed              └─────── ▼
//!                 ▼                 on_restart ◄ Restart · Resume · Stop ─► on_stop unless it panicked
//!               ended
//! ```
//!
//! User code is polled only through [`guarded`], which sees a kill at every await. Panics are contained: a
//! handler's by its envelope, which answers the asker, a hook's by [`hook`].

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt;

use crate::envelope::{Envelope, Handled, Labelled};
use crate::mailbox::{Ending, Park, Taken};
use crate::panic::{Panic, contain, discard};
use crate::seed::Seed;
use crate::shared::Shared;
use crate::system::Enrolment;
use crate::turn::{Entered, Mode, Progress, Slate};
use crate::{Actor, ActorRef, Context, Directive, Error, ErrorKind, Failure, Outcome, StopReason};

/// How many messages one turn handles at the most, before the runtime gets to look at its own signals and
/// other actors run.
pub const TURN: usize = 128;

/// Everything an actor leaves behind, settled once: by its life when it ends, or by whoever drops it.
pub(crate) struct Estate<A: Actor> {
    shared: Arc<Shared<A>>,
    /// Taken from the mailbox and not handled yet.
    batch: VecDeque<Envelope<A>>,
    enrolment: Option<Enrolment>,
}

impl<A: Actor> Estate<A> {
    pub(crate) fn new(shared: Arc<Shared<A>>, enrolment: Enrolment) -> Self {
        Self { shared, batch: VecDeque::new(), enrolment: Some(enrolment) }
    }

    /// Refuses what will not be handled any more.
    fn close(&mut self) {
        let rest = self.shared.mailbox.close();
        for envelope in self.batch.drain(..).chain(rest) {
            // Dropping a message runs user code.
            if let Err(panic) = contain(|| self.shared.refuse(envelope)) {
                tracing::warn!(actor = %self.shared.label(), %panic, "a refused message panicked");
            }
        }
    }

    fn settle(&mut self, reason: StopReason) {
        let Some(enrolment) = self.enrolment.take() else { return };
        self.close();
        // Gone from the system before anyone is told: its name is free when `wait` returns.
        drop(enrolment);
        let _ = self.shared.head.end.set(reason);
    }
}

impl<A: Actor> Drop for Estate<A> {
    fn drop(&mut self) {
        self.settle(StopReason::Killed);
    }
}

/// The actor was killed while its code was running.
struct Killed;

/// Why a hook did not complete.
enum Cut {
    Killed,
    Panicked(Panic),
}

pub(crate) async fn live<A: Actor>(mut estate: Estate<A>, seed: Seed<A>, on_panic: Directive) {
    let shared = estate.shared.clone();
    let ctx = Context::new(ActorRef { shared: shared.clone() });
    let mut life = Alive { shared: &shared, ctx, seed, on_panic };
    let reason = life.run(&mut estate).await;
    drop(life);
    estate.settle(reason);
}

struct Alive<'a, A: Actor> {
    shared: &'a Arc<Shared<A>>,
    ctx: Context<A>,
    seed: Seed<A>,
    on_panic: Directive,
}

/// How the message loop ended.
enum Left {
    /// The instance is sound: its `on_stop` runs.
    Sound(StopReason),
    /// The actor was killed or its instance panicked.
    Lost(StopReason),
}

impl<A: Actor> Alive<'_, A> {
    async fn run(&mut self, estate: &mut Estate<A>) -> StopReason {
        let mut actor = match self.start(None).await {
            Ok(actor) => Some(actor),
            Err(reason) => return reason,
        };
        self.shared.mailbox.started();
        pause(&self.shared.head.slate, Progress::Started).await;
        let left = self.messages(&mut actor, estate).await;
        // From here on nobody waits in vain, however long `on_stop` takes.
        estate.close();
        let reason = match (left, &mut actor) {
            (Left::Sound(reason), Some(actor)) => {
                let stopping = actor.on_stop(&reason, &mut self.ctx);
                match hook(self.shared, stopping).await {
                    Ok(Ok(())) => reason,
                    Ok(Err(failure)) => self.failed("on_stop", &failure),
                    Err(Cut::Panicked(panic)) => StopReason::Failed(self.panicked("on_stop", panic)),
                    Err(Cut::Killed) => StopReason::Killed,
                }
            }
            (Left::Sound(reason) | Left::Lost(reason), _) => reason,
        };
        discard(actor);
        reason
    }

    /// Makes an instance and runs its first hook: `on_start`, or `on_restart` after a failure.
    async fn start(&mut self, failure: Option<&Error>) -> Result<A, StopReason> {
        let which = if failure.is_some() { "on_restart" } else { "on_start" };
        let entered = Entered::new(self.shared.head.pid);
        let grown = contain(|| self.seed.grow());
        drop(entered);
        let mut actor = match grown {
            Ok(Some(actor)) => actor,
            Ok(None) => {
                let error = Error::new(ErrorKind::Failed)
                    .with("actor", self.shared.label())
                    .with("restart", "impossible: spawned from a value, not from a factory");
                return Err(StopReason::Failed(match failure {
                    Some(failure) => error.because(failure.clone()),
                    None => error,
                }));
            }
            Err(panic) => return Err(StopReason::Failed(self.panicked("factory", panic))),
        };
        let started: Result<Outcome<()>, Cut> = match failure {
            None => hook(self.shared, actor.on_start(&mut self.ctx)).await,
            Some(failure) => hook(self.shared, actor.on_restart(failure, &mut self.ctx)).await,
        };
        let reason = match started {
            Ok(Ok(())) => return Ok(actor),
            Ok(Err(failure)) => self.failed(which, &failure),
            Err(Cut::Panicked(panic)) => StopReason::Failed(self.panicked(which, panic)),
            Err(Cut::Killed) => StopReason::Killed,
        };
        discard(actor);
        Err(reason)
    }

    /// Handles messages until the actor is to end. `actor` is `None` only after a failed restart.
    async fn messages(&mut self, actor: &mut Option<A>, estate: &mut Estate<A>) -> Left {
        let shared = self.shared;
        let mut handled = 0;
        while let Some(instance) = actor {
            match shared.mailbox.ending() {
                Ending::None | Ending::Drain => {}
                Ending::Stop => return Left::Sound(StopReason::Stopped),
                Ending::Kill => return Left::Lost(StopReason::Killed),
            }
            let Some(envelope) = estate.batch.pop_front() else {
                if !refill(shared, &mut estate.batch, &mut handled).await {
                    return Left::Sound(StopReason::Drained);
                }
                continue;
            };
            if handled == TURN {
                handled = 0;
                estate.batch.push_front(envelope);
                pause(&shared.head.slate, Progress::Spent).await;
                continue;
            }
            handled += 1;
            let (message, asked) = (envelope.message_type(), envelope.is_ask());
            // Pinned where it is made: a running handler is large, and moving it is what a tell would cost.
            let outcome = {
                let running = pin!(envelope.dispatch(instance, &mut self.ctx, &**shared));
                let Some(running) = running.as_pin_mut() else { continue };
                guarded(shared, running).await
            };
            let (error, directive) = match outcome {
                Ok(Handled::Done) => continue,
                Ok(Handled::Failed(failure)) => {
                    let error = self.error(ErrorKind::Failed, message).because_shared(failure.shared());
                    if !asked {
                        shared.head.system.events().failed(&**shared, message, &error);
                    }
                    match hook(shared, instance.on_error(&failure, &mut self.ctx)).await {
                        Ok(directive) => (error, directive),
                        Err(Cut::Killed) => return Left::Lost(StopReason::Killed),
                        Err(Cut::Panicked(panic)) => {
                            return Left::Lost(StopReason::Failed(self.panicked("on_error", panic)));
                        }
                    }
                }
                Ok(Handled::Panicked(panic)) => {
                    let error = self.error(ErrorKind::Panicked, message).because(panic);
                    shared.head.system.events().failed(&**shared, message, &error);
                    (error, self.on_panic)
                }
                Err(Killed) => return Left::Lost(StopReason::Killed),
            };
            match directive {
                Directive::Resume => {}
                Directive::Stop if error.kind() == ErrorKind::Failed => {
                    return Left::Sound(StopReason::Failed(error));
                }
                Directive::Stop => return Left::Lost(StopReason::Failed(error)),
                Directive::Restart => {
                    discard(actor.take());
                    match self.start(Some(&error)).await {
                        Ok(fresh) => *actor = Some(fresh),
                        Err(reason) => return Left::Lost(reason),
                    }
                    shared.head.system.events().restarted(&**shared, &error);
                }
            }
        }
        unreachable!("a failed restart ends the loop")
    }

    fn error(&self, kind: ErrorKind, message: &'static str) -> Error {
        Error::new(kind).with("actor", self.shared.label()).with("message", message)
    }

    fn failed(&self, hook: &'static str, failure: &Failure) -> StopReason {
        let error = Error::new(ErrorKind::Failed).because_shared(failure.shared());
        StopReason::Failed(error.with("actor", self.shared.label()).with("hook", hook))
    }

    fn panicked(&self, hook: &'static str, panic: Panic) -> Error {
        Error::new(ErrorKind::Panicked).because(panic).with("actor", self.shared.label()).with("hook", hook)
    }
}

/// Runs a hook as [`guarded`] code and contains its panics.
async fn hook<A: Actor, F: Future>(shared: &Shared<A>, code: F) -> Result<F::Output, Cut> {
    let code = pin!(AssertUnwindSafe(code).catch_unwind());
    match guarded(shared, code).await {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(payload)) => Err(Cut::Panicked(Panic::new(payload))),
        Err(Killed) => Err(Cut::Killed),
    }
}

/// Polls code of the user's that does not panic, as this actor's, and leaves it at the await where a kill
/// finds it.
async fn guarded<A: Actor, F: Future>(shared: &Shared<A>, mut code: Pin<&mut F>) -> Result<F::Output, Killed> {
    poll_fn(|cx| {
        if shared.mailbox.ending() == Ending::Kill {
            return Poll::Ready(Err(Killed));
        }
        let entered = Entered::new(shared.head.pid);
        let polled = code.as_mut().poll(cx);
        drop(entered);
        match polled {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending if shared.mailbox.wait_for_signal(cx.waker()) => Poll::Ready(Err(Killed)),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Fills the batch, waiting for messages. `false` when the actor drains and there are no more.
///
/// A cell that is run by turns does not end its turn at once: it lingers, pending, until the runtime has
/// nothing else to do. A conversation then wakes the cell's future and spares the native mailbox, and
/// native signals are still looked at whenever the conversation pauses.
async fn refill<A: Actor>(
    shared: &Shared<A>,
    batch: &mut VecDeque<Envelope<A>>,
    since_native: &mut usize,
) -> bool {
    let mut lingered = false;
    poll_fn(|cx| {
        let by_turns = shared.head.slate.mode() == Mode::Turns;
        // A turn that handled nothing has no conversation to wait for.
        let native = by_turns && (lingered || *since_native == 0);
        let park = if native { Park::Native } else { Park::Pending(cx.waker()) };
        match shared.mailbox.take(batch, park) {
            Taken::Some => Poll::Ready(true),
            // A stronger request may have come meanwhile: the loop looks again.
            Taken::Ending => Poll::Ready(shared.mailbox.ending() != Ending::Drain),
            Taken::Parked => {
                if native {
                    lingered = false;
                    *since_native = 0;
                    shared.head.slate.report(Progress::Parked);
                } else if by_turns {
                    lingered = true;
                    // Wakes this task when its worker is about to park, not before.
                    let _ = pin!(tokio::task::yield_now()).poll(cx);
                }
                Poll::Pending
            }
        }
    })
    .await
}

/// Gives control back to whoever polls the cell, saying why.
async fn pause(slate: &Slate, progress: Progress) {
    let mut paused = false;
    poll_fn(|_| {
        if std::mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        slate.report(progress);
        Poll::Pending
    })
    .await;
}
