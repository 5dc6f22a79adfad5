//! An actor with its type erased, as a backend runs it.

mod handles;

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::base::panic::{contain, discard};
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
    /// The turn's budget is spent, and other tasks have had the chance to run: the turn was pending once. Look at
    /// native signals, then run another turn without waiting for a wake.
    /// When the runtime refuses to schedule one, because it is draining, run it at once.
    More,
    /// The actor has ended: end the native one.
    Ended(Exit),
}

/// How an actor ended, as far as a native runtime cares.
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
    /// Handle what has been accepted, then stop.
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
/// It is [`Send`] and not [`Sync`]: one task at a time runs it, and a runtime that shares its actors needs a lock around
/// it, which is never contended. What a native handle needs to stop it is in an
/// [`Ender`].
pub struct Cell {
    future: Option<ActorFuture>,
    actor: Arc<dyn DynActor>,
}

impl Cell {
    pub(crate) fn new(future: ActorFuture, actor: Arc<dyn DynActor>) -> Self {
        Self { future: Some(future), actor }
    }

    /// Tells the cell where it lives. Call it once, before the first turn and before
    /// [`Backend::spawn`](crate::spi::Backend::spawn) returns.
    pub fn bind(&self, handle: impl NativeHandle) {
        // A second handle would never be woken: the first one stays.
        self.actor.meta().set_native_handle(Box::new(handle));
    }

    /// The actor's path, as a text.
    pub fn label(&self) -> String {
        self.actor.label()
    }

    /// Runs one turn: at most [`TURN`](crate::spi::TURN) messages.
    ///
    /// It is pending while a handler waits for something, and once when its budget is spent, so that other tasks run
    /// whatever the native runtime does between two turns. While nobody has taken the native handle
    /// ([`ActorRef::native`](crate::ActorRef::native)), and so nobody can signal the native actor, it also stays
    /// pending when there is nothing to do.
    ///
    /// A cell that has ended says so again, however often it is polled.
    pub fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<TurnEnd> {
        let Self { future, actor } = self;
        let meta = actor.meta();
        if meta.poll_state().progress() == Progress::Spent && future.is_some() {
            // The task has given way to others since.
            meta.poll_state().begin(Mode::Turns);
            return Poll::Ready(TurnEnd::More);
        }
        match poll(future, &**actor, meta, cx, Mode::Turns) {
            Poll::Ready(exit) => Poll::Ready(TurnEnd::Ended(exit)),
            Poll::Pending => match meta.poll_state().progress() {
                Progress::Parked => Poll::Ready(TurnEnd::Idle),
                // A runtime may run turn after turn within one poll of its task, as far as tokio's budget goes: then
                // nothing else would run for as many messages as the two budgets multiply to.
                Progress::Spent => {
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
                Progress::Waiting | Progress::Started => Poll::Pending,
            },
        }
    }

    /// [`poll_turn`](Self::poll_turn) as a future. Dropping it loses nothing: another turn goes on where it was.
    pub async fn turn(&mut self) -> TurnEnd {
        poll_fn(|cx| self.poll_turn(cx)).await
    }

    /// Runs the actor until it ends. Between messages it stays pending and is woken by its waker.
    ///
    /// It may follow turns. A cell that has ended gives its exit again, however often it is polled.
    pub fn poll_run(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        let Self { future, actor } = self;
        let meta = actor.meta();
        let exit = poll(future, &**actor, meta, cx, Mode::Resident);
        if exit.is_pending() && meta.poll_state().progress() == Progress::Spent {
            cx.waker().wake_by_ref();
        }
        exit
    }

    /// [`poll_run`](Self::poll_run) as a future. Dropping it loses nothing: another run goes on where it was.
    pub async fn run(&mut self) -> Exit {
        poll_fn(|cx| self.poll_run(cx)).await
    }

    /// Says that the native host is ending, or is to end. The cell ends when it is run: by
    /// [`poll_run`](Self::poll_run) or by more turns.
    ///
    /// A cell that is not being run is woken, by its waker or by [`NativeHandle::wake`]: a host that goes on obeying wakes has
    /// nothing else to do. A stronger request replaces a weaker one. After the end it does nothing.
    pub fn end(&self, how: NativeEnd) {
        self.actor.end(how.into());
    }

    /// A way to [`end`](Self::end) the cell that can be cloned and kept anywhere.
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

/// Polls the actor's future, unless it has ended. `meta` is that of `actor`, which is a virtual call away.
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
        // User code is contained inside; this is for a panic of the kernel itself.
        match contain(|| running.as_mut().poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(())) => {}
            Err(panic) => tracing::error!(actor = %actor.label(), %panic, "an actor's loop panicked"),
        }
        discard(future.take());
    }
    Poll::Ready(meta.stop_reason().map_or(Exit::Killed, Exit::from))
}

/// The runtime that drops a cell is no place for a panic of the actor's.
impl Drop for Cell {
    fn drop(&mut self) {
        discard(self.future.take());
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cell").field(&self.label()).finish()
    }
}
