//! Whose turn it is on this thread, and how a poll of a cell went.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::time::Instant;
use tracing::level_filters::LevelFilter;
use tracing::{Span, span};

use crate::envelope::Labelled;
use crate::{Error, ErrorKind, Pid};

thread_local! {
    static CURRENT: Cell<Pid> = const { Cell::new(Pid::NOBODY) };
}

/// The actor whose code is being polled on this thread.
pub(crate) fn current() -> Pid {
    CURRENT.get()
}

/// The error of a call that an actor awaits in its own turn, and that could return only after it.
pub(crate) fn awaits_itself(actor: &(impl Labelled + ?Sized), call: &'static str) -> Error {
    Error::new(ErrorKind::AskedItself).about(actor).with("call", call)
}

/// Marks this thread as polling `pid`'s code until it is dropped.
#[derive(Debug)]
pub(crate) struct Entered(Pid);

impl Entered {
    pub(crate) fn new(pid: Pid) -> Self {
        Self(CURRENT.replace(pid))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// The span of an actor's code: made when a subscriber first wants it, and kept as long as the actor is referred to.
#[derive(Debug, Default)]
pub(crate) struct ActorSpan(OnceLock<Box<Span>>);

impl ActorSpan {
    /// Enters the span, unless no subscriber is interested: then this is one load.
    ///
    /// It has no parent. A runtime may poll the actor inside the span of the sender that woke it (ractor does so by
    /// default), and `on_start` is polled in the task that spawns: a log line of the actor's is not about those.
    pub(crate) fn enter(&self, actor: &dyn Labelled) -> Option<span::Entered<'_>> {
        if LevelFilter::current() == LevelFilter::OFF {
            return None;
        }
        if let Some(span) = self.0.get() {
            return Some(span.enter());
        }
        // Of the highest level, so that the actor is named wherever a log line is wanted.
        let span = tracing::error_span!(
            target: "dactor",
            parent: None,
            "actor",
            path = %actor.label(),
            r#type = actor.actor_type(),
        );
        (!span.is_disabled()).then(|| self.0.get_or_init(|| Box::new(span)).enter())
    }
}

thread_local! {
    static MEMBER: Cell<bool> = const { Cell::new(false) };
}

/// Whether what this thread sends comes from an actor of the system that it is sent to: see [`Member`].
pub(crate) fn is_member() -> bool {
    MEMBER.get()
}

/// Lets this thread into the mailboxes of its own system while that is shut down, until it is dropped.
#[derive(Debug)]
pub(crate) struct Member(());

impl Member {
    pub(crate) fn enter() -> Self {
        MEMBER.set(true);
        Self(())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        MEMBER.set(false);
    }
}

thread_local! {
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// When the answer that is being worked on in this thread is of no use any more.
pub(crate) fn deadline() -> Option<Instant> {
    DEADLINE.get()
}

/// Gives the code of a handler the deadline of its asker, until it is dropped.
#[derive(Debug)]
pub(crate) struct Until(Option<Instant>);

impl Until {
    pub(crate) fn enter(deadline: Instant) -> Self {
        Self(DEADLINE.replace(Some(deadline)))
    }
}

impl Drop for Until {
    fn drop(&mut self) {
        DEADLINE.set(self.0);
    }
}

/// The slate between a cell and whoever polls it: before a poll it says how the cell is run, after a poll
/// that returned `Pending` it says why.
#[derive(Debug)]
pub(crate) struct Slate(AtomicU8);

/// How the cell is being run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// By turns: a cell with nothing to do ends its turn.
    Turns = 0,
    /// As one long future: a cell with nothing to do stays pending.
    Resident = 1,
}

/// Why the cell is pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// User code awaits something; its waker is registered.
    Waiting,
    /// `on_start` is done; the cell can be handed to the backend.
    Started = 2,
    /// Nothing to do; the next message asks the backend for a turn.
    Parked = 3,
    /// The turn's budget is spent and there is more to do.
    Spent = 4,
}

impl Slate {
    pub(crate) fn new() -> Self {
        Self(AtomicU8::new(Mode::Turns as u8))
    }

    pub(crate) fn begin(&self, mode: Mode) {
        self.0.store(mode as u8, Ordering::Relaxed);
    }

    pub(crate) fn mode(&self) -> Mode {
        if self.0.load(Ordering::Relaxed) == Mode::Resident as u8 { Mode::Resident } else { Mode::Turns }
    }

    pub(crate) fn report(&self, progress: Progress) {
        self.0.store(progress as u8, Ordering::Relaxed);
    }

    pub(crate) fn progress(&self) -> Progress {
        match self.0.load(Ordering::Relaxed) {
            2 => Progress::Started,
            3 => Progress::Parked,
            4 => Progress::Spent,
            _ => Progress::Waiting,
        }
    }
}
