//! The life of one actor, as one future: start, messages, restarts, stop.
//!
//! ```text
//!   factory ─► on_start ─► Started ─► take ─► handle ─► … ─► on_stop ─► ended
//!                 │                     ▲        │ failed                   ▲
//!                 │ failed              ├─ Resume ▼                         │ children end
//!                 ▼                     │        fate ── Stop · Escalate ───┘ on_stop unless it panicked
//!               ended                   └─ on_restart ◄─ factory ◄─ wait ◄─ children end ◄─ Restart
//! ```
//!
//! User code is polled only through [`guarded`], which sees a kill at every await. Panics are contained, in a call, in an
//! await and in a destructor: a handler's by its envelope, which answers the asker, a hook's by [`hook`].

mod recovery;

use std::future::{Future, poll_fn};
use std::mem;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use self::recovery::no_factory;
use crate::cycles::Watch;
use crate::envelope::{Envelope, Handled, Labelled, Scene};
use crate::family::{Summons, all_ended, signal_all};
use crate::linger::Linger;
use crate::mailbox::{Ending, Park, Signals, Taken};
use crate::panic::{Contained, Panic, contain, discard};
use crate::pipeline::Chain;
use crate::queue::Queue;
use crate::registry::Enrolment;
use crate::seed::Seed;
use crate::shared::{Control, Head, Shared};
use crate::stopping::drive;
use crate::supervision::Record;
use crate::turn::{Mode, Progress, Slate};
use crate::{Actor, ActorRef, Context, Error, ErrorKind, Inbound, Outcome, StopReason, Supervision};

/// How many messages one turn handles at the most, before the runtime gets to look at its own signals and
/// other actors run.
pub const TURN: usize = 128;

/// Everything an actor leaves behind, settled once: by its life when it ends, or by whoever drops it.
struct Estate<A: Actor> {
    shared: Arc<Shared<A>>,
    /// Taken from the mailbox and not handled yet.
    batch: Queue<Envelope<A>>,
    closed: bool,
    enrolment: Option<Enrolment>,
    /// Whether anyone was told that it lives.
    started: bool,
}

impl<A: Actor> Estate<A> {
    /// Refuses what will not be handled any more.
    fn close(&mut self) {
        // What was put aside is older than what waits, and `on_stop` may put something aside, too.
        let aside = self.shared.mailbox.empty_stash();
        let rest = if mem::replace(&mut self.closed, true) {
            Queue::new()
        } else {
            self.shared.head.family.close();
            self.shared.mailbox.close()
        };
        let system = &self.shared.head.system;
        let closes = system.registry().is_closed();
        for envelope in aside.chain(self.batch.by_ref()).chain(rest).filter(Envelope::is_letter) {
            if closes && !envelope.is_withdrawn() {
                system.closing().lose_accepted();
            }
            self.shared.refuse(envelope);
        }
    }

    fn settle(&mut self, reason: StopReason) {
        let Some(enrolment) = self.enrolment.take() else { return };
        self.close();
        let head = &self.shared.head;
        // None are left, unless this is dropped from outside.
        signal_all(&head.family.children(), Ending::Kill);
        // Gone from the system before anyone is told: its name is free when `wait` returns.
        head.system.registry().strike(enrolment);
        if self.started {
            head.system.events().stopped(&*self.shared, &reason);
        }
        head.end.set(reason.clone());
        // A host that panics when it is woken must not keep those who wait from being told.
        let tell = || head.watchers.end(&self.shared.clone().into_labelled(), &reason);
        if let Err(panic) = contain(tell) {
            tracing::warn!(actor = %self.shared.label(), %panic, "a watcher could not be told");
        }
        head.end.announce();
        if head.system.registry().is_closed() {
            head.system.closing().look_again();
        }
    }
}

impl<A: Actor> Drop for Estate<A> {
    fn drop(&mut self) {
        // A panic that got past all guards is a failure, never a kill without a word.
        let reason = if std::thread::panicking() {
            StopReason::Failed(error(&*self.shared, ErrorKind::Panicked).with("in", "the actor's own loop"))
        } else {
            StopReason::Killed
        };
        self.settle(reason);
    }
}

/// The actor was killed while its code was running.
struct Killed;

/// Why a hook did not complete.
enum Cut {
    Killed,
    Panicked(Panic),
}

/// How the message loop ended.
enum Left {
    /// The instance is sound: its `on_stop` runs.
    Sound(StopReason),
    /// The actor was killed or its instance is lost.
    Lost(StopReason),
}

/// The life of one actor. The future is used where it was made, and everything in it stays in place: it is
/// most of what an idle actor costs.
pub(crate) fn live<A: Actor>(
    shared: Arc<Shared<A>>,
    enrolment: Enrolment,
    seed: Seed<A>,
    supervision: Option<Supervision>,
    inbound: Chain<dyn Inbound>,
    stash: usize,
) -> impl Future<Output = ()> + Send {
    let ctx = Context::new(ActorRef::of(shared.clone()), stash);
    let estate =
        Estate { shared, batch: Queue::new(), closed: false, started: false, enrolment: Some(enrolment) };
    let supervision = supervision.map(Box::new);
    let mut alive = Alive { seed, ctx, supervision, record: None, inbound, estate };
    async move {
        let reason = alive.run().await;
        alive.close();
        if alive.has_children() {
            Box::pin(alive.kill_children()).await;
        }
        discard(alive.seed.take());
        alive.estate.settle(reason);
    }
}

/// The instance is dropped before the estate is settled.
struct Alive<A: Actor> {
    seed: Seed<A>,
    ctx: Context<A>,
    /// How its failures are met; as its parent says if this does not.
    supervision: Option<Box<Supervision>>,
    /// Of its own restarts, since the first.
    record: Option<Box<Record>>,
    inbound: Chain<dyn Inbound>,
    estate: Estate<A>,
}

/// What the user gave at the spawn, each under a guard of its own.
impl<A: Actor> Drop for Alive<A> {
    fn drop(&mut self) {
        discard(self.supervision.take());
        discard(self.inbound.take());
    }
}

impl<A: Actor> Alive<A> {
    async fn run(&mut self) -> StopReason {
        let left = match self.start(None).await {
            Err(reason) => Left::Lost(reason),
            Ok(()) => {
                self.estate.started = true;
                self.estate.shared.head.system.events().spawned(&*self.estate.shared);
                self.estate.shared.mailbox.started();
                pause(&self.estate.shared.head.slate, Progress::Started).await;
                self.messages().await
            }
        };
        // From here on nobody waits in vain, however long `on_stop` takes.
        self.close();
        let (reason, sound) = match left {
            Left::Sound(reason) => (reason, true),
            Left::Lost(reason) => (reason, false),
        };
        let ending = match reason {
            StopReason::Killed => return reason,
            StopReason::Drained => Ending::Drain,
            StopReason::Stopped | StopReason::Failed(_) => Ending::Stop,
        };
        if self.has_children() && Box::pin(self.dismiss(ending)).await.is_err() {
            return StopReason::Killed;
        }
        if sound { self.stop(reason).await } else { reason }
    }

    /// Refuses what will not be handled any more: what was put aside is older than what waits.
    fn close(&mut self) {
        self.ctx.close();
        self.estate.close();
    }

    /// Not interrupted by anything: whoever waits here has been killed, too.
    async fn kill_children(&mut self) {
        let children = self.estate.shared.head.family.children();
        signal_all(&children, Ending::Kill);
        all_ended(&children).await;
    }

    fn has_children(&self) -> bool {
        self.estate.shared.head.family.has_children()
    }

    /// Ends the children, with their hooks, and waits for them. An actor that no other one waits for
    /// [drives](crate::stopping) the end of its tree: a child that waits for this actor's answer would never end.
    async fn dismiss(&mut self, ending: Ending) -> Result<(), Killed> {
        let shared = &*self.estate.shared;
        let Head { family, system, .. } = &shared.head;
        family.set_dismissing(true);
        let children = family.children();
        signal_all(&children, ending);
        let waiting = pin!(async {
            if shared.head.is_dismissed() {
                all_ended(&children).await
            } else {
                drive(system, &children).await
            }
        });
        let ended = guarded(shared, waiting).await;
        family.set_dismissing(false);
        ended
    }

    /// Makes an instance and runs its first hook: `on_start`, or `on_restart` after a failure.
    async fn start(&mut self, failure: Option<&Error>) -> Result<(), StopReason> {
        let Self { seed, ctx, estate, .. } = self;
        // No message is in hand: what a hook puts aside is of normal priority.
        ctx.taken = Signals::default();
        let shared = &*estate.shared;
        let entered = shared.enter();
        let grown = contain(|| seed.grow());
        drop(entered);
        let instance = match grown {
            Ok(Some(instance)) => instance,
            Ok(None) => unreachable!("a value is there at the first start, and restarts need a factory"),
            Err(panic) => return Err(StopReason::Failed(panicked(shared, "factory", panic))),
        };
        let (which, started) = match failure {
            None => ("on_start", hook(shared, || instance.on_start(ctx)).await),
            Some(failure) => ("on_restart", hook(shared, || instance.on_restart(failure, ctx)).await),
        };
        concluded(shared, which, started)
    }

    async fn stop(&mut self, reason: StopReason) -> StopReason {
        let Self { seed, ctx, estate, .. } = self;
        let Some(instance) = seed.instance() else { return reason };
        let stopped = hook(&estate.shared, || instance.on_stop(&reason, ctx)).await;
        let Err(last) = concluded(&estate.shared, "on_stop", stopped) else { return reason };
        if let StopReason::Failed(error) = &last {
            tracing::warn!(actor = %estate.shared.label(), error = format_args!("{error:#}"), "on_stop failed");
        }
        last
    }

    /// Handles messages until the actor is to end.
    async fn messages(&mut self) -> Left {
        let mut handled = 0;
        let mut linger = Linger::default();
        loop {
            let Self { seed, ctx, estate, inbound, .. } = self;
            let Estate { shared, batch, .. } = estate;
            let shared = &**shared;
            let signals = shared.mailbox.signals();
            match signals.ending() {
                Ending::None | Ending::Drain => {}
                Ending::Stop => return Left::Sound(StopReason::Stopped),
                Ending::Kill => return Left::Lost(StopReason::Killed),
            }
            if signals.is_called() {
                if let Err(left) = Box::pin(self.look_up()).await {
                    return left;
                }
                continue;
            }
            if handled == TURN {
                handled = 0;
                pause(&shared.head.slate, Progress::Spent).await;
                continue;
            }
            // The lane is kept as it is, and read only when the message is put aside.
            ctx.taken = signals;
            let next = if signals.overtaken() {
                shared.mailbox.pick(batch, &mut ctx.taken)
            } else {
                batch.pop_front()
            };
            let Some(envelope) = next else {
                if !refill(shared, batch, &mut linger, &mut handled).await {
                    return Left::Sound(StopReason::Drained);
                }
                continue;
            };
            handled += 1;
            let Some(instance) = seed.instance() else {
                unreachable!("a failed restart ends the loop");
            };
            let message = envelope.message_type();
            let counts = ctx.idles && envelope.is_letter();
            // Pinned where it is made: a running handler is large, and moving it is what a tell would cost.
            let outcome = {
                let scene = Scene {
                    actor: &mut *instance,
                    ctx: &mut *ctx,
                    target: shared,
                    inbound: inbound.as_deref(),
                    behind: batch.len(),
                };
                let running = pin!(envelope.dispatch(scene));
                guarded(shared, running).await
            };
            if counts {
                ctx.is_active();
            }
            let handled = match outcome {
                Ok(Handled::Done) => match ctx.rest() {
                    Ok(()) => continue,
                    Err(panic) => Handled::Panicked(panic),
                },
                Ok(handled) => handled,
                Err(Killed) => return Left::Lost(StopReason::Killed),
            };
            if let Err(left) = Box::pin(self.conclude(handled, message)).await {
                return left;
            }
        }
    }

    /// Does what the cell is called for beside its messages.
    async fn look_up(&mut self) -> Result<(), Left> {
        self.estate.shared.mailbox.answer_call();
        self.ctx.ring();
        // One by one: a restart settles all that were there before it.
        while let Some(summons) = self.estate.shared.head.family.next_summons() {
            match summons {
                Summons::Restart { failure, .. } if !self.seed.is_factory() => {
                    return Err(Left::Sound(StopReason::Failed(no_factory(&self.estate.shared, failure))));
                }
                Summons::Restart { failure, after } => self.restart(failure, after).await?,
                Summons::ChildFailed { child, failure } => {
                    let error = error(&*self.estate.shared, ErrorKind::ChildFailed).with("child", child);
                    self.fail(error.because(failure), None).await?;
                }
            }
        }
        Ok(())
    }
}

fn error<A: Actor>(shared: &Shared<A>, kind: ErrorKind) -> Error {
    Error::new(kind).about(shared)
}

fn panicked<A: Actor>(shared: &Shared<A>, which: &'static str, panic: Panic) -> Error {
    error(shared, ErrorKind::Panicked).with("hook", which).because(panic)
}

/// What a hook that may end the actor means for it.
fn concluded<A: Actor>(
    shared: &Shared<A>,
    which: &'static str,
    result: Result<Outcome<()>, Cut>,
) -> Result<(), StopReason> {
    match result {
        Ok(Ok(())) => Ok(()),
        Ok(Err(failure)) => Err(StopReason::Failed(
            error(shared, ErrorKind::Failed).with("hook", which).because_shared(failure.shared()),
        )),
        Err(Cut::Panicked(panic)) => Err(StopReason::Failed(panicked(shared, which, panic))),
        Err(Cut::Killed) => Err(StopReason::Killed),
    }
}

/// Runs a hook as [`guarded`] code and contains its panics: also one in the call, before there is a future.
async fn hook<A: Actor, F: Future>(shared: &Shared<A>, call: impl FnOnce() -> F) -> Result<F::Output, Cut> {
    let code = pin!(Contained::new(async move { call().await }));
    match guarded(shared, code).await {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(panic)) => Err(Cut::Panicked(panic)),
        Err(Killed) => Err(Cut::Killed),
    }
}

/// Polls code of the user's that does not panic, as this actor's, and leaves it at the await where a kill
/// finds it.
async fn guarded<A: Actor, F: Future>(
    shared: &Shared<A>,
    mut code: Pin<&mut F>,
) -> Result<F::Output, Killed> {
    // A message that left the queue is handled at least to its first await: a kill that came in between would
    // lose it in silence.
    let mut begun = false;
    let mut watch = Watch::new();
    poll_fn(|cx| {
        if mem::replace(&mut begun, true) && shared.mailbox.ending() == Ending::Kill {
            return Poll::Ready(Err(Killed));
        }
        let entered = shared.enter();
        let polled = if shared.head.detects_cycles {
            watch.poll(&shared.head, code.as_mut(), cx)
        } else {
            code.as_mut().poll(cx)
        };
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
/// A cell that is run by turns goes back to its runtime when it has nothing to do, because the runtime looks
/// at its own signals only between turns. While nobody holds the native handle there are no such signals, and
/// the cell stays pending instead: waking a future is cheaper than a native message. Once somebody does, it
/// may still linger first, see [`Linger`]. When it goes back, `since_native` starts again.
async fn refill<A: Actor>(
    shared: &Shared<A>,
    batch: &mut Queue<Envelope<A>>,
    linger: &mut Linger,
    since_native: &mut usize,
) -> bool {
    // A turn that handled nothing has no conversation to wait for.
    let mut may_linger = *since_native > 0 && linger.is_due();
    let mut lingering = false;
    // Polled and nothing there: something else than this mailbox woke the task, perhaps the runtime.
    let mut foreign = false;
    poll_fn(|cx| {
        loop {
            let by_turns = shared.head.slate.mode() == Mode::Turns;
            let exposed = shared.head.is_exposed();
            let native = by_turns && (foreign || (exposed && !may_linger));
            let park = if native { Park::Native } else { Park::Pending(cx.waker()) };
            match shared.mailbox.take(batch, park) {
                Taken::Some => {
                    if lingering {
                        linger.paid();
                    }
                    return Poll::Ready(true);
                }
                // A stronger request may have come meanwhile: the loop looks again.
                Taken::Called => return Poll::Ready(true),
                Taken::Ending => return Poll::Ready(shared.mailbox.ending() != Ending::Drain),
                Taken::Parked if native => {
                    tell_shutdown(shared);
                    if mem::take(&mut lingering) {
                        linger.was_in_vain();
                    }
                    *since_native = 0;
                    shared.head.slate.report(Progress::Parked);
                }
                // The handle was given out while the cell was parking.
                Taken::Parked if !exposed && shared.head.is_exposed() => continue,
                Taken::Parked if exposed && by_turns => {
                    tell_shutdown(shared);
                    may_linger = false;
                    lingering = true;
                    // Wakes this task when its worker is about to park, not before.
                    let _ = pin!(tokio::task::yield_now()).poll(cx);
                }
                Taken::Parked => {
                    tell_shutdown(shared);
                    foreign = true;
                }
            }
            return Poll::Pending;
        }
    })
    .await
}

/// A shutdown waits until all actors have nothing to do.
fn tell_shutdown<A: Actor>(shared: &Shared<A>) {
    if shared.mailbox.admits_members() {
        shared.head.system.closing().look_again();
    }
}

/// Gives control back to whoever polls the cell, saying why.
async fn pause(slate: &Slate, progress: Progress) {
    let mut paused = false;
    poll_fn(|_| {
        if mem::replace(&mut paused, true) {
            return Poll::Ready(());
        }
        slate.report(progress);
        Poll::Pending
    })
    .await;
}
