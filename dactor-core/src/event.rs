use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;
use crate::envelope::Labelled;
use crate::panic::contain;

/// Something that happened in a system and that no caller was told.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// A message was not handled: its target had stopped, or stopped before its turn came.
    DeadLetter {
        /// The actor it was for.
        actor: String,
        /// The type of the message.
        message: &'static str,
        /// Why it was not handled; its sender or asker, if it could still be told, got the same error.
        error: Error,
    },
    /// A handler panicked, or failed on a message that nobody asked for an answer to.
    Failed {
        /// The actor.
        actor: String,
        /// The type of the message.
        message: &'static str,
        /// What the handler failed with.
        error: Error,
    },
    /// An actor was restarted in place.
    Restarted {
        /// The actor.
        actor: String,
        /// What it failed with.
        error: Error,
    },
}

pub(crate) type Observer = Box<dyn Fn(&Event) + Send + Sync>;

/// Where a system reports its [`Event`]s: to its observers, and as `tracing` events.
#[derive(Default)]
pub(crate) struct Events {
    observers: Vec<Observer>,
    dead_letters: AtomicU64,
}

impl Events {
    pub(crate) fn new(observers: Vec<Observer>) -> Self {
        Self { observers, dead_letters: AtomicU64::new(0) }
    }

    pub(crate) fn dead_letters(&self) -> u64 {
        self.dead_letters.load(Ordering::Relaxed)
    }

    pub(crate) fn dead_letter(&self, target: &dyn Labelled, message: &'static str, error: &Error) {
        self.dead_letters.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(actor = %target.label(), message, %error, "dead letter");
        self.emit(|| Event::DeadLetter { actor: target.label(), message, error: error.clone() });
    }

    pub(crate) fn failed(&self, target: &dyn Labelled, message: &'static str, error: &Error) {
        tracing::warn!(actor = %target.label(), message, %error, "a handler failed");
        self.emit(|| Event::Failed { actor: target.label(), message, error: error.clone() });
    }

    pub(crate) fn restarted(&self, target: &dyn Labelled, error: &Error) {
        tracing::info!(actor = %target.label(), %error, "restarted");
        self.emit(|| Event::Restarted { actor: target.label(), error: error.clone() });
    }

    fn emit(&self, event: impl FnOnce() -> Event) {
        if self.observers.is_empty() {
            return;
        }
        let event = event();
        for observer in &self.observers {
            if let Err(panic) = contain(|| observer(&event)) {
                tracing::warn!(%panic, "an observer panicked");
            }
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("dead_letters", &self.dead_letters()).finish_non_exhaustive()
    }
}
