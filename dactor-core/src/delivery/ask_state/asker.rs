//! An asker and its target, as they know each other.

use std::any::Any;
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::base::label::Labelled;
use crate::mailbox::slot::{AtomicSlot, Slot};
use crate::{Error, Headers, Result};

/// Whoever waits for an answer of type `R`.
pub trait Sink<R>: Asker {
    /// Answers, once. `false` when there is nobody to answer any more, or it was answered before.
    fn answer(&self, answer: Result<R>) -> bool;
    /// Answers with the reply of a handler that got the message when the answer had been passed on this often, unless the
    /// handler has passed it on itself: then the reply comes back.
    fn answer_of_handler(&self, reply: R, passes: u32) -> Result<bool, R>;
}

/// Whoever waits for an answer of any type.
pub trait Asker: Send + Sync {
    fn deadline(&self) -> Option<Instant>;
    /// Whether the answer is still wanted.
    fn is_gone(&self) -> bool;
    /// Whether the asker has given up, and its message with it.
    fn has_given_up(&self) -> bool;
    /// Where its message is.
    fn slot(&self) -> &AtomicSlot;
    /// Its message comes into the mailbox of an actor, whose lock is held; of another one than before, or back into the
    /// one that it was in. `false` when the asker has given up.
    fn enter(&self, slot: AtSlot, holder: Option<&HolderRef>) -> bool;
    /// Is cancelled when the answer is not wanted any more.
    fn gone(&self) -> CancellationToken;
    /// Somebody else than the handler is to answer.
    fn pass_on(&self);
    fn passes(&self) -> u32;
    /// Whether the asker waits, and the actor that was asked is the one to answer.
    fn is_held_up(&self) -> bool;
    /// Whether no handler has the message.
    fn is_unclaimed(&self) -> bool;
    /// Lets no answer leave, until it is released as often as it was held.
    fn hold(&self);
    fn release(&self);
    fn change_headers(&self, change: &mut dyn FnMut(&mut Headers));
    /// `Arc<dyn Sink<R>>`.
    fn into_sink(self: Arc<Self>) -> Box<dyn Any + Send>;
}

/// A place in a mailbox.
#[derive(Debug)]
pub struct AtSlot(pub(crate) Slot);

/// The actor that an ask was sent to, as the asker needs it when it gives up.
pub(crate) trait Holder: Labelled {
    /// An answer was given, and the asker dropped it unread.
    fn unread(&self, message: &'static str, failure: Option<&Error>);
    /// Lets an asker give up under the lock of the mailbox: see [`Mailbox::withdraw`](crate::mailbox::Mailbox::withdraw).
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
