//! The asker and its target, as seen by each other.

use std::any::Any;
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::base::label::Labelled;
use crate::mailbox::slot::{AtomicSlot, Slot};
use crate::{Error, Headers, Pid, Result};

/// An asker that waits for an answer of type `R`.
pub trait Sink<R>: Asker {
    /// Answers, once. `false` when the asker has given up or was already answered.
    fn answer(&self, answer: Result<R>) -> bool;
    /// Answers with the reply of a handler that got the message after this many passes. If the handler has
    /// passed the obligation on itself, returns the reply.
    fn answer_of_handler(&self, reply: R, passes: u32) -> Result<bool, R>;
}

/// An asker that waits for an answer of any type.
pub trait Asker: Send + Sync {
    fn deadline(&self) -> Option<Instant>;
    /// Whether the answer is still wanted.
    fn is_gone(&self) -> bool;
    /// Whether the asker has given up, and withdrawn its message.
    fn has_given_up(&self) -> bool;
    /// Where its message is.
    fn slot(&self) -> &AtomicSlot;
    /// Moves the message into the mailbox of an actor, whose lock is held: a new one, or the same as before.
    /// `false` when the asker has given up.
    fn enter(&self, slot: AtSlot, holder: Option<&HolderRef>) -> bool;
    /// Cancelled when the answer is no longer wanted.
    fn gone(&self) -> CancellationToken;
    /// The handler passes the obligation to answer on.
    fn pass_on(&self);
    fn passes(&self) -> u32;
    /// Whether the asker waits for the actor that was asked, and no other.
    fn is_held_up(&self) -> bool;
    /// The actor that got the message last, if it was forwarded or its first target lives elsewhere.
    fn held_by(&self) -> Option<Pid>;
    /// Whether no handler has the message.
    fn is_unclaimed(&self) -> bool;
    /// Whether the message joins running reads.
    fn interleaves(&self) -> bool;
    /// Delays the answer, until released as often as held.
    fn hold(&self);
    fn release(&self);
    fn change_headers(&self, change: &mut dyn FnMut(&mut Headers));
    /// `Arc<dyn Sink<R>>`.
    fn into_sink(self: Arc<Self>) -> Box<dyn Any + Send>;
}

/// A slot in a mailbox.
#[derive(Debug)]
pub struct AtSlot(pub(crate) Slot);

/// The actor that holds an ask's message, for an asker that gives up.
pub(crate) trait Holder: Labelled {
    /// Reports an answer that the asker dropped unread.
    fn unread(&self, message: &'static str, failure: Option<&Error>);
    /// Gives up under the lock of the mailbox: see [`Mailbox::withdraw`](crate::mailbox::Mailbox::withdraw).
    fn withdraw(&self, give_up: &mut dyn FnMut() -> Option<Slot>);
    /// An asker has given up whose message was not taken back: an actor that lives elsewhere is told.
    fn asker_gone(&self) {}
}

/// An actor whose mailbox may hold the message.
pub struct HolderRef(pub(crate) Arc<dyn Holder>);

impl std::fmt::Debug for HolderRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HolderRef").field(&self.0.pid()).finish()
    }
}
