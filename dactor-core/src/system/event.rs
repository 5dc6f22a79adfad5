mod nested;

use std::fmt;
use std::future::pending;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::broadcast::{self, error::RecvError};

use crate::base::label::Labelled;
use crate::base::panic::contain;
use crate::{ActorPath, ActorSelection, Error, ErrorKind, StopReason};

/// An event of a system: something that no caller, or not every caller, gets as a result.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// A message was not handled.
    DeadLetter(DeadLetter),
    /// A handler panicked, or failed on a message without a waiting asker.
    Failed {
        /// The path of the actor.
        actor: ActorPath,
        /// The type of the message.
        message: &'static str,
        /// The failure.
        error: Error,
    },
    /// A read runs longer than [`SystemBuilder::slow_read`](crate::SystemBuilder::slow_read) or
    /// [`Spawn::slow_read`](crate::Spawn::slow_read) allow. It holds up the writes behind it. It is reported once, while
    /// it runs.
    SlowRead {
        /// The path of the actor.
        actor: ActorPath,
        /// The type of the message.
        message: &'static str,
        /// The time that has passed.
        limit: Duration,
    },
    /// An actor was restarted in place.
    Restarted {
        /// The path of the actor.
        actor: ActorPath,
        /// The failure.
        error: Error,
    },
    /// An actor has started, before it handles its first message.
    Spawned {
        /// The path of the actor.
        actor: ActorPath,
        /// Its type.
        actor_type: &'static str,
    },
    /// An actor that had started has ended.
    Stopped {
        /// The path of the actor.
        actor: ActorPath,
        /// Its type.
        actor_type: &'static str,
        /// Why it ended.
        reason: StopReason,
    },
}

/// A message that was sent but not handled: its target had stopped, stopped before handling it, had a full
/// mailbox or shed load. Or a reply whose asker had given up while the handler ran, or dropped it unread
/// ([`AskerGone`](ErrorKind::AskerGone)).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The target actor, or the actor that replied; or a selection that matched no actor.
    pub target: DeadLetterTarget,
    /// The type of the message; for a reply, that of the message it answers.
    pub message: &'static str,
    /// The message itself, if it opted in: see [`Message::describe`](crate::Message::describe).
    pub text: Option<String>,
    /// Why it was not handled. The sender or asker got the same error, if it was still waiting.
    pub error: Error,
}

/// The target of a [`DeadLetter`]. Displays as a path without a UID, or as the text of the selection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeadLetterTarget {
    /// The target actor, or the actor that replied.
    Actor(ActorPath),
    /// A [`Selection`](crate::Selection) that matched no actor of the given type.
    Selection(ActorSelection),
}

impl DeadLetterTarget {
    /// The path of the actor, with its UID, if the target is an actor.
    pub fn path(&self) -> Option<&ActorPath> {
        match self {
            Self::Actor(path) => Some(path),
            Self::Selection(_) => None,
        }
    }
}

impl fmt::Display for DeadLetterTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Actor(path) => fmt::Display::fmt(path, f),
            Self::Selection(selection) => f.pad(&selection.to_serialization_format()),
        }
    }
}

/// How many dead letters a subscriber may lag behind.
const FEED: usize = 1024;

/// A subscription to the dead letters of a system, from [`System::dead_letter_feed`](crate::System::dead_letter_feed).
///
/// It never slows a sender: a subscriber that lags more than 1024 dead letters behind loses the oldest, and
/// gets their number.
#[derive(Debug)]
pub struct DeadLetterFeed {
    receiver: broadcast::Receiver<DeadLetter>,
}

impl DeadLetterFeed {
    /// The next dead letter. Waits for one; never completes if the system is gone and none is left.
    ///
    /// # Errors
    ///
    /// [`Lagged`] when this subscriber was too slow; the next call continues with the oldest that is left.
    pub async fn next(&mut self) -> Result<DeadLetter, Lagged> {
        match self.receiver.recv().await {
            Ok(letter) => Ok(letter),
            Err(RecvError::Lagged(missed)) => Err(Lagged { missed }),
            Err(RecvError::Closed) => pending().await,
        }
    }
}

/// A [`DeadLetterFeed`] lost dead letters because it was read too slowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lagged {
    /// How many dead letters this subscriber missed.
    pub missed: u64,
}

impl fmt::Display for Lagged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} dead letters were missed", self.missed)
    }
}

impl std::error::Error for Lagged {}

pub(crate) type Observer = Box<dyn Fn(&Event) + Send + Sync>;
type Observers = Arc<[Observer]>;

/// Publishes the [`Event`]s of a system: to its observers, and as `tracing` events: starts and ends at
/// `DEBUG`, restarts at `INFO`, dead letters and failures at `WARN`, an actor that ends as failed at `ERROR`.
///
/// The `tracing` events have no enclosing span, because a runtime may run an actor inside the span of the
/// sender that woke it; a field names the actor.
#[derive(Default)]
pub(crate) struct Events {
    observers: Observers,
    dead_letters: AtomicU64,
    /// Created for the first subscriber.
    feed: OnceLock<broadcast::Sender<DeadLetter>>,
}

impl Events {
    pub(crate) fn new(observers: Vec<Observer>) -> Self {
        Self { observers: observers.into(), ..Self::default() }
    }

    pub(crate) fn dead_letter_count(&self) -> u64 {
        self.dead_letters.load(Ordering::Relaxed)
    }

    pub(crate) fn subscribe(&self) -> DeadLetterFeed {
        DeadLetterFeed { receiver: self.feed.get_or_init(|| broadcast::Sender::new(FEED)).subscribe() }
    }

    /// A reply whose asker has given up.
    pub(crate) fn asker_gone(&self, target: &dyn Labelled, message: &'static str) {
        let error = Error::new(ErrorKind::AskerGone).about(target).with("message", message);
        self.dead_letter(target, message, &error, || None);
    }

    /// A reply of a handler that had already deferred it: the deferred reply takes precedence.
    pub(crate) fn reply_dropped(&self, target: &dyn Labelled, message: &'static str) {
        tracing::warn!(parent: None, actor = %target.label(), message_type = message, "a handler returned a reply after deferring it: the deferred reply takes precedence");
    }

    pub(crate) fn dead_letter(
        &self,
        target: &dyn Labelled,
        message: &'static str,
        error: &Error,
        describe: impl FnOnce() -> Option<String>,
    ) {
        self.lost(|| DeadLetterTarget::Actor(target.path()), message, error, describe);
    }

    /// The same for a message without a target actor.
    pub(crate) fn lost(
        &self,
        target: impl Fn() -> DeadLetterTarget,
        message: &'static str,
        error: &Error,
        describe: impl FnOnce() -> Option<String>,
    ) {
        self.dead_letters.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(parent: None, actor = %target(), message_type = message, error = format_args!("{error:#}"), "dead letter");
        let feed = self.feed.get().filter(|feed| feed.receiver_count() > 0);
        if feed.is_none() && self.observers.is_empty() {
            return;
        }
        let text = contain(describe).unwrap_or_else(|panic| Some(format!("({panic})")));
        let letter = DeadLetter { target: target(), message, text, error: error.clone() };
        if let Some(feed) = feed {
            // An error means that the last subscriber has just left.
            let _ = feed.send(letter.clone());
        }
        self.emit(|| Event::DeadLetter(letter));
    }

    pub(crate) fn failed(&self, target: &dyn Labelled, message: &'static str, error: &Error) {
        tracing::warn!(parent: None, actor = %target.label(), message_type = message, error = format_args!("{error:#}"), "a handler failed");
        self.emit(|| Event::Failed { actor: target.path(), message, error: error.clone() });
    }

    pub(crate) fn slow_read(&self, target: &dyn Labelled, message: &'static str, limit: Duration) {
        tracing::warn!(parent: None, actor = %target.label(), message_type = message, ?limit, "a read runs for long and holds up writes");
        self.emit(|| Event::SlowRead { actor: target.path(), message, limit });
    }

    pub(crate) fn restarted(&self, target: &dyn Labelled, error: &Error) {
        tracing::info!(parent: None, actor = %target.label(), error = format_args!("{error:#}"), "restarted");
        self.emit(|| Event::Restarted { actor: target.path(), error: error.clone() });
    }

    pub(crate) fn spawned(&self, target: &dyn Labelled) {
        tracing::debug!(parent: None, actor = %target.label(), actor_type = target.actor_type(), "started");
        self.emit(|| Event::Spawned { actor: target.path(), actor_type: target.actor_type() });
    }

    pub(crate) fn stopped(&self, target: &dyn Labelled, reason: &StopReason) {
        let actor_type = target.actor_type();
        match reason {
            StopReason::Failed(error) => {
                tracing::error!(parent: None, actor = %target.label(), actor_type, error = format_args!("{error:#}"), "failed");
            }
            reason => tracing::debug!(parent: None, actor = %target.label(), actor_type, %reason, "ended"),
        }
        self.emit(|| Event::Stopped { actor: target.path(), actor_type, reason: reason.clone() });
    }

    fn emit(&self, event: impl FnOnce() -> Event) {
        if self.observers.is_empty() {
            return;
        }
        nested::deliver(&self.observers, event());
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("dead_letter_count", &self.dead_letter_count()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_is_told_how_much_it_missed() {
        assert_eq!(Lagged { missed: 3 }.to_string(), "3 dead letters were missed");
    }
}
