//! The task of one actor, as one future: start, messages, restarts, stop.
//!
//! ```text
//!   factory ─► on_start ─► Started ─► take ─► handle ─► … ─► on_stop ─► ended
//!                 │                     ▲        │ failed                   ▲
//!                 │ failed              ├─ Resume ▼                         │ children end
//!                 ▼                     │     decision ── Stop · Escalate ──┘ on_stop unless it panicked
//!               ended                   └─ on_restart ◄─ factory ◄─ wait ◄─ children end ◄─ Restart
//! ```
//!
//! User code is polled only through [`guarded`], which checks for a kill at every await. Panics are contained
//! in calls, awaits and destructors: a handler's by its [dispatch](crate::delivery::handler), which answers
//! the asker, a hook's by [`hook`](hook::hook).

mod hook;
mod messages;
pub(crate) mod reads;
mod recovery;
mod refill;
mod teardown;

use std::future::{Future, poll_fn};
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use self::hook::{Killed, concluded, guarded, hook, panicked};
use self::reads::ReadLimits;
use self::teardown::Teardown;
use crate::actor::factory::Factory;
use crate::actor::stream::open::OpenStreams;
use crate::base::label::Labelled;
use crate::base::panic::{contain, discard_from};
use crate::delivery::envelope::lifecycle::SharedLifecycle;
use crate::interceptor::chain::Chain;
use crate::kernel::actor_core::{ActorCore, ActorFuture};
use crate::kernel::family::{all_ended, signal_all};
use crate::kernel::registry::Registration;
use crate::kernel::stopping::drive;
use crate::kernel::turn::{PollState, Progress};
use crate::mailbox::{Ending, Signals};
use crate::supervision::strategy::Record;
use crate::{Actor, Context, Error, Inbound, StopReason, Supervision};

/// The maximum number of messages per turn, before the runtime can check its own signals and other actors
/// run.
pub const TURN: usize = 128;

/// How the message loop ended.
enum LoopExit {
    /// The instance is intact: its `on_stop` runs.
    Sound(StopReason),
    /// The actor was killed or its instance is lost.
    Lost(StopReason),
}

/// The future of the whole actor. It is used in place and not moved, because it is most of the memory of an
/// idle actor.
pub(crate) fn actor_future<A: Actor>(
    core: Arc<ActorCore<A>>,
    registration: Registration,
    factory: Factory<A>,
    options: SpawnOptions,
    inbound: Chain<dyn Inbound>,
    stash: usize,
    lifecycle: Option<SharedLifecycle<A>>,
) -> ActorFuture {
    let ctx = Context::new(core.clone(), stash, lifecycle);
    let teardown = Teardown::new(core, registration);
    let options = (!options.is_default()).then(|| Box::new(options));
    let mut task = ActorTask { factory, ctx, options, record: None, inbound, teardown };
    // The message loop is awaited right here: every poll of the actor passes all futures that are around it.
    Box::pin(async move {
        let exit = match task.start(None).await {
            Err(reason) => LoopExit::Lost(reason),
            Ok(()) => {
                task.teardown.announce_start();
                task.teardown.core.mailbox.started();
                pause(task.teardown.core.meta.poll_state(), Progress::Started).await;
                let exit = task.messages().await;
                match task.ctx.unfinished_streams() {
                    Some(open) if matches!(exit, LoopExit::Sound(StopReason::Drained)) => {
                        Box::pin(task.finish_streams(open)).await.unwrap_or(exit)
                    }
                    _ => exit,
                }
            }
        };
        let reason = task.stop_all(exit).await;
        task.close();
        if task.teardown.has_children() {
            Box::pin(task.kill_children()).await;
        }
        task.factory.drop_instance();
        let lifecycle = task.ctx.take_lifecycle();
        task.teardown.settle(reason, lifecycle.as_ref());
    })
}

/// What only some spawns say.
#[derive(Default)]
pub(crate) struct SpawnOptions {
    /// How the failures of the actor are met; as its parent says if this does not.
    pub(crate) supervision: Option<Supervision>,
    pub(crate) reads: Option<ReadLimits>,
}

impl SpawnOptions {
    fn is_default(&self) -> bool {
        self.supervision.is_none() && self.reads.is_none()
    }
}

/// A running actor. The instance is dropped before the teardown runs.
struct ActorTask<A: Actor> {
    factory: Factory<A>,
    ctx: Context<A>,
    /// What its spawn said, if it said anything.
    options: Option<Box<SpawnOptions>>,
    /// The history of its own restarts; `None` until the first.
    record: Option<Box<Record>>,
    inbound: Chain<dyn Inbound>,
    teardown: Teardown<A>,
}

/// User values given at spawn, each dropped under its own panic guard.
impl<A: Actor> Drop for ActorTask<A> {
    fn drop(&mut self) {
        discard_from(&mut self.options);
        discard_from(&mut self.inbound);
        // Dropped by its backend before its end: the teardown needs the lifecycle, which is dropped with the context.
        if let Some(lifecycle) = self.ctx.take_lifecycle() {
            self.factory.drop_instance();
            self.ctx.close();
            self.teardown.abandon(Some(&lifecycle));
        }
    }
}

impl<A: Actor> ActorTask<A> {
    /// Stops the children, and then the instance, unless it is lost.
    async fn stop_all(&mut self, exit: LoopExit) -> StopReason {
        // Askers are answered now, however long `on_stop` takes.
        self.close();
        let (reason, sound) = match exit {
            LoopExit::Sound(reason) => (reason, true),
            LoopExit::Lost(reason) => (reason, false),
        };
        let ending = match reason {
            StopReason::Killed => return reason,
            StopReason::Drained => Ending::Drain,
            StopReason::Stopped
            | StopReason::Failed(_)
            // Only of actors elsewhere.
            | StopReason::Unreachable
            | StopReason::Unknown => Ending::Stop,
        };
        if self.teardown.has_children() && Box::pin(self.stop_children(ending)).await.is_err() {
            return StopReason::Killed;
        }
        if sound { self.stop(reason).await } else { reason }
    }

    /// Waits for the streams of a draining actor. Returns how it ends if it is stopped or killed meanwhile.
    async fn finish_streams(&mut self, open: OpenStreams) -> Option<LoopExit> {
        let mailbox = &self.teardown.core.mailbox;
        let mut closed = pin!(open.all_closed());
        poll_fn(|cx| {
            if closed.as_mut().poll(cx).is_ready() {
                return Poll::Ready(None);
            }
            mailbox.wait_for_signal(cx.waker());
            match mailbox.ending() {
                Ending::Kill => Poll::Ready(Some(LoopExit::Lost(StopReason::Killed))),
                Ending::Stop => Poll::Ready(Some(LoopExit::Sound(StopReason::Stopped))),
                Ending::None | Ending::Drain => Poll::Pending,
            }
        })
        .await
    }

    /// Refuses remaining messages: stashed ones first, because they are older.
    fn close(&mut self) {
        self.ctx.close();
        self.teardown.close(self.ctx.lifecycle());
    }

    /// Not interruptible: the actor has been killed, too.
    async fn kill_children(&mut self) {
        let children = self.teardown.core.meta.family().children();
        signal_all(&children, Ending::Kill);
        all_ended(&children).await;
    }

    /// Stops the children, with their hooks, and waits for them. An actor that no other actor waits for
    /// [drives](crate::kernel::stopping) the end of its tree: a child waiting for this actor's answer would
    /// never end otherwise.
    async fn stop_children(&mut self, ending: Ending) -> Result<(), Killed> {
        let core = &*self.teardown.core;
        let family = core.meta.family();
        family.set_stopping_children(true);
        let children = family.children();
        signal_all(&children, ending);
        let waiting = pin!(async {
            if core.meta.is_awaited_by_parent() {
                all_ended(&children).await
            } else {
                drive(&core.meta, &children).await
            }
        });
        let ended = guarded(core, waiting).await;
        family.set_stopping_children(false);
        ended
    }

    /// Creates an instance and runs its first hook: `on_start`, or `on_restart` after a failure.
    async fn start(&mut self, failure: Option<&Error>) -> Result<(), StopReason> {
        let Self { factory, ctx, teardown, .. } = self;
        // There is no current message: a hook stashes with normal priority.
        ctx.set_taken(Signals::default());
        let core = &*teardown.core;
        let entered = core.enter();
        let instantiated = contain(|| factory.instantiate());
        drop(entered);
        let instance = match instantiated {
            Ok(Some(instance)) => instance,
            Ok(None) => unreachable!("a value is there at the first start, and restarts need a factory"),
            Err(panic) => return Err(StopReason::Failed(panicked(core, "factory", panic))),
        };
        let (which, started) = match failure {
            None => ("on_start", hook(core, || instance.on_start(ctx)).await),
            Some(failure) => ("on_restart", hook(core, || instance.on_restart(failure, ctx)).await),
        };
        concluded(core, which, started)
    }

    async fn stop(&mut self, reason: StopReason) -> StopReason {
        let Self { factory, ctx, teardown, .. } = self;
        let Some(instance) = factory.instance() else { return reason };
        if let Some(lifecycle) = ctx.lifecycle().cloned() {
            let told = hook(&teardown.core, || lifecycle.before_stop(instance, &reason, ctx)).await;
            match concluded(&teardown.core, "before_stop", told) {
                Err(StopReason::Failed(error)) => {
                    let (actor, error) = (teardown.core.label(), format_args!("{error:#}"));
                    tracing::warn!(%actor, error, "a hook before on_stop failed");
                }
                Err(killed) => return killed,
                Ok(()) => {}
            }
        }
        let stopped = hook(&teardown.core, || instance.on_stop(&reason, ctx)).await;
        let Err(last) = concluded(&teardown.core, "on_stop", stopped) else { return reason };
        if let StopReason::Failed(error) = &last {
            tracing::warn!(actor = %teardown.core.label(), error = format_args!("{error:#}"), "on_stop failed");
        }
        last
    }
}

/// Yields to the code that polls the cell, with the reason.
async fn pause(poll_state: &PollState, progress: Progress) {
    let mut paused = false;
    poll_fn(|_| {
        if mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        poll_state.report(progress);
        Poll::Pending
    })
    .await;
}
