//! The contract between the kernel and a runtime: what an adapter is given, and what it owes.
//!
//! An adapter contains no semantics. It is handed a [`Cell`], which is a whole actor with its mailbox, hooks,
//! failures and restarts, already started, and only finds it a native actor to live in:
//!
//! 1. [`Backend::spawn`] creates the native actor around the cell, on the tokio runtime it is called in. It
//!    calls [`Cell::bind`] **before it returns** and before the cell is run for the first time.
//! 2. One task runs the cell, in one of two ways:
//!    - *resident*: a runtime that lets a future live inside the actor polls [`Cell::poll_run`] from the start,
//!      unasked, to its end;
//!    - *by turns*: a runtime whose actors only react to messages runs one [`Cell::poll_turn`] for each
//!      [`Host::wake`], and obeys the [`TurnEnd`]. A turn too many does no harm.
//! 3. A cell that has ended says how ([`Exit`]). The native actor ends, too, and **reports a failure as a
//!    failure** to native supervisors.
//! 4. When the native runtime ends the actor from outside, the adapter says so with [`Cell::end`] (or an [`Ender`]) and
//!    goes on running the cell to its end if it still can, or drops it. Dropping is always safe: it counts as a kill,
//!    answers every asker and tells every waiter. A cell must not be kept alive or forgotten after its native
//!    actor.
//! 5. The death of a native peer or child must not end the actor; on some runtimes that needs an override.
//!
//! The conformance suite checks all of this: an adapter that passes it is correct. The adapter guide in the
//! repository's `docs` builds one from nothing.

mod handles;

use std::any::Any;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::mailbox::Ending;
use crate::panic::{contain, discard};
use crate::shared::{Control, Life};
use crate::turn::{Mode, Progress};
use crate::{Error, Result, StopReason};

pub use self::handles::{Ender, ExitTeller, ExitWatch, exit_watch};
pub use crate::life::TURN;

/// A runtime that can host actors.
pub trait Backend: Send + Sync + 'static {
    /// The name of the runtime, for people.
    fn name(&self) -> &'static str;

    /// Creates a native actor around the cell, on the tokio runtime in which it is called.
    ///
    /// # Errors
    ///
    /// When the runtime refuses. The cell is dropped then, and the error is returned by `spawn`.
    fn spawn(&self, cell: Cell) -> Result<()>;
}

impl Backend for Box<dyn Backend> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn spawn(&self, cell: Cell) -> Result<()> {
        (**self).spawn(cell)
    }
}

/// The native actor of one cell, as seen by everyone who sends to it.
pub trait Host: Send + Sync + 'static {
    /// Makes the native actor run [`Cell::poll_turn`] soon, without blocking.
    ///
    /// It is called on the thread of the sender: any thread, also one without a tokio runtime, and also inside a handler
    /// or a destructor. A wake that comes while a turn runs or ends asks for another turn.
    ///
    /// A wake that the native actor refuses, because it is ending, may be ignored: the end of the cell takes
    /// care of what is queued. A resident cell needs none.
    fn wake(&self) {}

    /// Ends an idle actor that has been asked to stop. A wake, the default, is always right.
    ///
    /// A runtime whose own stop costs less than a turn may use it here; it must lead to [`Cell::end`], which asks for the
    /// turn that is still needed. From any thread, like a wake.
    fn stop(&self) {
        self.wake();
    }

    /// The native handle, for [`ActorRef::native`](crate::ActorRef::native).
    fn native(&self) -> &(dyn Any + Send + Sync);
}

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
            StopReason::Stopped | StopReason::Drained => Self::Normal,
        }
    }
}

/// An actor, ready to be run by a backend.
///
/// It is [`Send`] and not [`Sync`]: one task at a time runs it, and a runtime that shares its actors needs a lock around
/// it, which is never contended. What a native handle needs to stop it is in an
/// [`Ender`].
pub struct Cell {
    life: Option<Life>,
    control: Arc<dyn Control>,
}

impl Cell {
    pub(crate) fn new(life: Life, control: Arc<dyn Control>) -> Self {
        Self { life: Some(life), control }
    }

    /// Tells the cell where it lives. Call it once, before the first turn and before [`Backend::spawn`] returns.
    pub fn bind(&self, host: impl Host) {
        // A second host would never be woken: the first one stays.
        let _ = self.control.head().host.set(Box::new(host));
    }

    /// The actor's path, as a text.
    pub fn label(&self) -> String {
        self.control.label()
    }

    /// Runs one turn: at most [`TURN`] messages.
    ///
    /// It is pending while a handler waits for something, and once when its budget is spent, so that other tasks run
    /// whatever the native runtime does between two turns. While nobody has taken the native handle
    /// ([`ActorRef::native`](crate::ActorRef::native)), and so nobody can signal the native actor, it also stays
    /// pending when there is nothing to do.
    ///
    /// A cell that has ended says so again, however often it is polled.
    pub fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<TurnEnd> {
        let slate = &self.control.head().slate;
        if self.life.is_some() && slate.progress() == Progress::Spent {
            // The task has given way to others since.
            slate.begin(Mode::Turns);
            return Poll::Ready(TurnEnd::More);
        }
        match self.poll(cx, Mode::Turns) {
            Poll::Ready(exit) => Poll::Ready(TurnEnd::Ended(exit)),
            Poll::Pending => match self.control.head().slate.progress() {
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
        let exit = self.poll(cx, Mode::Resident);
        if exit.is_pending() && self.control.head().slate.progress() == Progress::Spent {
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
    /// A cell that is not being run is woken, by its waker or by [`Host::wake`]: a host that goes on obeying wakes has
    /// nothing else to do. A stronger request replaces a weaker one. After the end it does nothing.
    pub fn end(&self, how: NativeEnd) {
        self.control.end(how.into());
    }

    /// A way to [`end`](Self::end) the cell that can be cloned and kept anywhere.
    pub fn ender(&self) -> Ender {
        Ender::new(&self.control)
    }

    /// Polls until `on_start` is done. `Ready` means that the actor ended instead.
    pub(crate) fn poll_start(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        match self.poll(cx, Mode::Turns) {
            Poll::Ready(_) => Poll::Ready(false),
            Poll::Pending if self.control.head().slate.progress() == Progress::Started => Poll::Ready(true),
            Poll::Pending => Poll::Pending,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, mode: Mode) -> Poll<Exit> {
        if let Some(life) = &mut self.life {
            self.control.head().slate.begin(mode);
            // User code is contained inside; this is for a panic of the kernel itself.
            match contain(|| life.as_mut().poll(cx)) {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(())) => {}
                Err(panic) => {
                    tracing::error!(actor = %self.control.label(), %panic, "an actor's loop panicked")
                }
            }
            discard(self.life.take());
        }
        Poll::Ready(self.control.head().end.get().map_or(Exit::Killed, Exit::from))
    }
}

/// The runtime that drops a cell is no place for a panic of the actor's.
impl Drop for Cell {
    fn drop(&mut self) {
        discard(self.life.take());
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cell").field(&self.label()).finish()
    }
}
