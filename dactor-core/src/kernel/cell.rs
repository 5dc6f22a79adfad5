//! A type-erased actor, as run by a backend.

mod handles;

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::base::panic::{contain, discard_from};
use crate::kernel::actor_core::{ActorFuture, ActorMeta, DynActor};
use crate::kernel::backend::NativeHandle;
use crate::kernel::turn::{Mode, Progress};
use crate::mailbox::Ending;
use crate::{Error, StopReason};

pub use self::handles::{Ender, ExitTeller, ExitWatch, exit_watch};

/// How a turn ended.
#[derive(Debug, Clone)]
pub enum TurnEnd {
    /// Nothing to do: wait for the next wake.
    Idle,
    /// The turn's budget is spent, and other tasks have had a chance to run: the turn was pending once. Check
    /// native signals, then run another turn without waiting for a wake. If the runtime refuses to schedule
    /// one, because it is draining, run it immediately.
    More,
    /// The actor has ended: end the native one.
    Ended(Exit),
}

/// How an actor ended, from the view of a native runtime.
#[derive(Debug, Clone)]
pub enum Exit {
    /// It stopped, or drained.
    Normal,
    /// It was killed.
    Killed,
    /// It failed: native supervisors must see this error.
    Failed(Error),
}

/// How a native runtime ends an actor from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NativeEnd {
    /// Handle all accepted messages, then stop.
    Drain,
    /// Stop after the current message.
    Stop,
    /// Stop now; no hook runs.
    Kill,
}

impl From<NativeEnd> for Ending {
    fn from(how: NativeEnd) -> Self {
        match how {
            NativeEnd::Drain => Self::Drain,
            NativeEnd::Stop => Self::Stop,
            NativeEnd::Kill => Self::Kill,
        }
    }
}

impl From<&StopReason> for Exit {
    fn from(reason: &StopReason) -> Self {
        match reason {
            StopReason::Failed(error) => Self::Failed(error.clone()),
            StopReason::Killed => Self::Killed,
            // The last two are of actors elsewhere, which have no cell.
            StopReason::Stopped | StopReason::Drained | StopReason::Unreachable | StopReason::Unknown => {
                Self::Normal
            }
        }
    }
}

/// An actor, ready to be run by a backend.
///
/// It is [`Send`] but not [`Sync`]: one task at a time runs it, and a runtime that shares its actors needs a
/// lock around it, which is never contended. A native handle stops it through an [`Ender`].
pub struct Cell {
    future: Option<ActorFuture>,
    actor: Arc<dyn DynActor>,
}

impl Cell {
    pub(crate) fn new(future: ActorFuture, actor: Arc<dyn DynActor>) -> Self {
        Self { future: Some(future), actor }
    }

    /// Connects the cell to its native actor. Call it once, before the first turn and before
    /// [`Backend::spawn`](crate::spi::Backend::spawn) returns.
    pub fn bind(&self, handle: impl NativeHandle) {
        // The first handle stays: a second one would never be woken.
        self.actor.meta().set_native_handle(Box::new(handle));
    }

    /// The actor's path as text.
    pub fn label(&self) -> String {
        self.actor.label()
    }

    /// Runs one turn: at most [`TURN`](crate::spi::TURN) messages.
    ///
    /// Pending while a handler waits, and once when the budget is spent, so that other tasks run whatever the
    /// native runtime does between two turns. Until the native handle is given out
    /// ([`ActorRef::native`](crate::ActorRef::native)), there can be no native signals, and the turn also
    /// stays pending while the actor is idle.
    ///
    /// A cell that has ended returns `Ended` on every further poll.
    pub fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<TurnEnd> {
        let Self { future, actor } = self;
        let meta = actor.meta();
        if meta.poll_state().progress() == Progress::Spent && future.is_some() {
            // The task has yielded since.
            meta.poll_state().begin(Mode::Turns);
            return Poll::Ready(TurnEnd::More);
        }
        match poll(future, &**actor, meta, cx, Mode::Turns) {
            Poll::Ready(exit) => Poll::Ready(TurnEnd::Ended(exit)),
            Poll::Pending => match meta.poll_state().progress() {
                Progress::Parked => Poll::Ready(TurnEnd::Idle),
                // A runtime may run several turns within one poll of its task, as far as tokio's budget goes:
                // without this yield, the two budgets would multiply before another task runs.
                Progress::Spent => {
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
                Progress::Waiting | Progress::Started => Poll::Pending,
            },
        }
    }

    /// [`poll_turn`](Self::poll_turn) as a future. Cancel-safe: another turn continues where it was.
    pub async fn turn(&mut self) -> TurnEnd {
        poll_fn(|cx| self.poll_turn(cx)).await
    }

    /// Runs the actor until it ends. Between messages it stays pending and is woken by its waker.
    ///
    /// It may follow turns. A cell that has ended returns its exit on every further poll.
    pub fn poll_run(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        let Self { future, actor } = self;
        let meta = actor.meta();
        let exit = poll(future, &**actor, meta, cx, Mode::Resident);
        if exit.is_pending() && meta.poll_state().progress() == Progress::Spent {
            cx.waker().wake_by_ref();
        }
        exit
    }

    /// [`poll_run`](Self::poll_run) as a future. Cancel-safe: another run continues where it was.
    pub async fn run(&mut self) -> Exit {
        poll_fn(|cx| self.poll_run(cx)).await
    }

    /// Ends the cell, because the native host is ending or must end. The cell ends when it is run: by
    /// [`poll_run`](Self::poll_run) or by further turns.
    ///
    /// A cell that is not running is woken, by its waker or by [`NativeHandle::wake`], so a host that still
    /// obeys wakes need not do anything else. A stronger request replaces a weaker one. No effect after the
    /// end.
    pub fn end(&self, how: NativeEnd) {
        self.actor.end(how.into());
    }

    /// A cloneable handle to [`end`](Self::end) the cell.
    pub fn ender(&self) -> Ender {
        Ender::new(&self.actor)
    }

    /// Polls until `on_start` is done. `Ready` means that the actor ended instead.
    pub(crate) fn poll_start(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let Self { future, actor } = self;
        let meta = actor.meta();
        match poll(future, &**actor, meta, cx, Mode::Turns) {
            Poll::Ready(_) => Poll::Ready(false),
            Poll::Pending if meta.poll_state().progress() == Progress::Started => Poll::Ready(true),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// Polls the actor's future, unless it has ended. `meta` belongs to `actor`, and saves a virtual call.
#[inline]
fn poll(
    future: &mut Option<ActorFuture>,
    actor: &dyn DynActor,
    meta: &ActorMeta,
    cx: &mut Context<'_>,
    mode: Mode,
) -> Poll<Exit> {
    if let Some(running) = future {
        meta.poll_state().begin(mode);
        // User code is contained inside; this catches a panic of the kernel itself.
        match contain(|| running.as_mut().poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(())) => {}
            Err(panic) => tracing::error!(actor = %actor.label(), %panic, "an actor's loop panicked"),
        }
        discard_from(future);
    }
    Poll::Ready(meta.stop_reason().map_or(Exit::Killed, Exit::from))
}

/// A panic of the actor must not unwind into the runtime that drops the cell.
impl Drop for Cell {
    fn drop(&mut self) {
        discard_from(&mut self.future);
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cell").field(&self.label()).finish()
    }
}
