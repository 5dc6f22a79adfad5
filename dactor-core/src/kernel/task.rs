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
//! User code is polled only through [`guarded`], which sees a kill at every await. Panics are contained, in a call, in an
//! await and in a destructor: a handler's by its [dispatch](crate::delivery::handler), which answers the asker, a hook's by
//! [`hook`](hook::hook).

mod hook;
mod messages;
mod recovery;
mod refill;
mod teardown;

use std::future::{Future, poll_fn};
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use self::hook::{Killed, concluded, guarded, hook, panicked};
use self::teardown::Teardown;
use crate::actor::factory::Factory;
use crate::actor::stream::open::OpenStreams;
use crate::base::label::Labelled;
use crate::base::panic::{contain, discard};
use crate::delivery::envelope::lifecycle::SharedLifecycle;
use crate::interceptor::chain::Chain;
use crate::kernel::actor_core::ActorCore;
use crate::kernel::family::{all_ended, signal_all};
use crate::kernel::registry::Registration;
use crate::kernel::stopping::drive;
use crate::kernel::turn::{PollState, Progress};
use crate::mailbox::{Ending, Signals};
use crate::supervision::strategy::Record;
use crate::{Actor, Context, Error, Inbound, StopReason, Supervision};

/// How many messages one turn handles at the most, before the runtime gets to look at its own signals and
/// other actors run.
pub const TURN: usize = 128;

/// How the message loop ended.
enum LoopExit {
    /// The instance is sound: its `on_stop` runs.
    Sound(StopReason),
    /// The actor was killed or its instance is lost.
    Lost(StopReason),
}

/// The future that is the whole actor. It is used where it was made, and everything in it stays in place: it is most of
/// what an idle actor costs.
pub(crate) fn actor_future<A: Actor>(
    core: Arc<ActorCore<A>>,
    registration: Registration,
    factory: Factory<A>,
    supervision: Option<Supervision>,
    inbound: Chain<dyn Inbound>,
    stash: usize,
    lifecycle: Option<SharedLifecycle<A>>,
) -> impl Future<Output = ()> + Send {
    let ctx = Context::new(core.clone(), stash, lifecycle.clone());
    let teardown = Teardown::new(core, registration, lifecycle);
    let supervision = supervision.map(Box::new);
    let mut task = ActorTask { factory, ctx, supervision, record: None, inbound, teardown };
    async move {
        let reason = task.run().await;
        task.close();
        if task.has_children() {
            Box::pin(task.kill_children()).await;
        }
        discard(task.factory.take());
        task.teardown.settle(reason);
    }
}

/// A running actor. The instance is dropped before the teardown runs.
struct ActorTask<A: Actor> {
    factory: Factory<A>,
    ctx: Context<A>,
    /// How its failures are met; as its parent says if this does not.
    supervision: Option<Box<Supervision>>,
    /// Of its own restarts, since the first.
    record: Option<Box<Record>>,
    inbound: Chain<dyn Inbound>,
    teardown: Teardown<A>,
}

/// What the user gave at the spawn, each under a guard of its own.
impl<A: Actor> Drop for ActorTask<A> {
    fn drop(&mut self) {
        discard(self.supervision.take());
        discard(self.inbound.take());
    }
}

impl<A: Actor> ActorTask<A> {
    async fn run(&mut self) -> StopReason {
        let exit = match self.start(None).await {
            Err(reason) => LoopExit::Lost(reason),
            Ok(()) => {
                self.teardown.announce_start();
                self.teardown.core.mailbox.started();
                pause(self.teardown.core.meta.poll_state(), Progress::Started).await;
                let exit = self.messages().await;
                match self.ctx.unfinished_streams() {
                    Some(open) if matches!(exit, LoopExit::Sound(StopReason::Drained)) => {
                        Box::pin(self.finish_streams(open)).await.unwrap_or(exit)
                    }
                    _ => exit,
                }
            }
        };
        // From here on nobody waits in vain, however long `on_stop` takes.
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
        if self.has_children() && Box::pin(self.stop_children(ending)).await.is_err() {
            return StopReason::Killed;
        }
        if sound { self.stop(reason).await } else { reason }
    }

    /// Waits for the streams of an actor that drains. How it ends instead, if it is asked to stop or is killed meanwhile.
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

    /// Refuses what will not be handled any more: what was put aside is older than what waits.
    fn close(&mut self) {
        self.ctx.close();
        self.teardown.close();
    }

    /// Not interrupted by anything: whoever waits here has been killed, too.
    async fn kill_children(&mut self) {
        let children = self.teardown.core.meta.family().children();
        signal_all(&children, Ending::Kill);
        all_ended(&children).await;
    }

    fn has_children(&self) -> bool {
        self.teardown.core.meta.family().has_children()
    }

    /// Ends the children, with their hooks, and waits for them. An actor that no other one waits for
    /// [drives](crate::kernel::stopping) the end of its tree: a child that waits for this actor's answer would never end.
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

    /// Makes an instance and runs its first hook: `on_start`, or `on_restart` after a failure.
    async fn start(&mut self, failure: Option<&Error>) -> Result<(), StopReason> {
        let Self { factory, ctx, teardown, .. } = self;
        // No message is in hand: what a hook puts aside is of normal priority.
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

/// Yields to the code that polls the cell, saying why.
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
