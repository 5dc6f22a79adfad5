//! The tracing span of an actor's code, and the poll state of a cell.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use tracing::level_filters::LevelFilter;
use tracing::{Span, span};

use crate::base::label::Labelled;

/// The span of an actor's code: created when a subscriber first wants it, and kept as long as the actor is
/// referenced.
#[derive(Debug, Default)]
pub(crate) struct ActorSpan(OnceLock<Box<Span>>);

impl ActorSpan {
    /// Enters the span. Without an interested subscriber this is one load.
    ///
    /// It has no parent. A runtime may poll the actor inside the span of the sender that woke it (ractor does
    /// by default), and `on_start` is polled in the spawning task: the actor's log lines do not belong to
    /// those.
    #[inline]
    pub(crate) fn enter(&self, actor: &dyn Labelled) -> Option<span::Entered<'_>> {
        if LevelFilter::current() == LevelFilter::OFF { None } else { self.enter_wanted(actor) }
    }

    #[inline(never)]
    fn enter_wanted(&self, actor: &dyn Labelled) -> Option<span::Entered<'_>> {
        if let Some(span) = self.0.get() {
            return Some(span.enter());
        }
        // At the highest level, so that every log line names the actor.
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

/// Shared between a cell and the code that polls it: before a poll, how the cell is run; after a poll that
/// returned `Pending`, why.
#[derive(Debug)]
pub(crate) struct PollState(AtomicU8);

/// How the cell is being run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// By turns: an idle cell ends its turn.
    Turns = 0,
    /// As one long future: an idle cell stays pending.
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

impl PollState {
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
