//! A live actor with its type erased.

use std::any::Any;
use std::sync::Arc;
use std::task::Wake;

use super::{ActorCore, ActorMeta};
use crate::base::label::Labelled;
use crate::mailbox::{Ending, Wakeup};
use crate::{Actor, End, Result, StopReason, Supervision};

/// A live actor of any type, as seen by its system and its backend.
pub(crate) trait DynActor: Labelled {
    fn meta(&self) -> &ActorMeta;
    fn meta_mut(&mut self) -> &mut ActorMeta;
    fn signal(&self, ending: Ending);
    /// The same for a native host, which may have been asked to stop before it reports it: the cell is woken
    /// in any case.
    fn end(&self, ending: Ending);
    /// How it has been asked to end.
    fn ending(&self) -> Ending;
    /// Whether its mailbox accepts messages, at least from actors of its system.
    fn is_open(&self) -> bool;
    /// Refuses messages from outside its system.
    fn admit_members_only(&self);
    /// See [`Mailbox::idle_wakes`].
    fn idle_wakes(&self) -> Option<u32>;
    /// Makes the cell check its timers and its family.
    fn call(&self);
    /// The supervision strategy for its children.
    fn supervision(&self) -> Supervision;
    /// Asks it to end. It is an error only for an actor that lives elsewhere.
    fn request_end(&self, how: End) -> Result<()>;
    /// Subscribes to the end of a remote actor, until [`unobserve`](Self::unobserve).
    fn observe(&self) -> Result<()>;
    fn unobserve(&self);
    /// It lives elsewhere, and has ended. `false` when that is known already.
    fn set_far_end(self: Arc<Self>, reason: StopReason) -> bool;
    fn into_labelled(self: Arc<Self>) -> Arc<dyn Labelled>;
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<A: Actor> DynActor for ActorCore<A> {
    fn meta(&self) -> &ActorMeta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut ActorMeta {
        &mut self.meta
    }

    fn signal(&self, ending: Ending) {
        self.meta.wake(self.mailbox.signal(ending));
        self.meta.announce(ending);
    }

    fn end(&self, ending: Ending) {
        self.meta.announce(ending);
        match self.mailbox.signal(ending) {
            Wakeup::Waker(waker) => waker.wake(),
            // `None` means that the host has already been asked, possibly for the very stop that it is
            // reporting now: without a wake it would run no turn.
            Wakeup::None | Wakeup::Native | Wakeup::Stop if !self.meta.has_ended() => {
                self.meta.wake(Wakeup::Native);
            }
            _ => {}
        }
    }

    fn ending(&self) -> Ending {
        self.mailbox.ending()
    }

    fn is_open(&self) -> bool {
        !self.mailbox.is_closed()
    }

    fn admit_members_only(&self) {
        self.mailbox.admit_members_only();
        self.meta.announce(Ending::Drain);
    }

    fn idle_wakes(&self) -> Option<u32> {
        self.mailbox.idle_wakes()
    }

    fn call(&self) {
        self.meta.wake(self.mailbox.call());
    }

    fn supervision(&self) -> Supervision {
        A::supervision()
    }

    fn request_end(&self, how: End) -> Result<()> {
        ActorCore::request_end(self, how)
    }

    fn observe(&self) -> Result<()> {
        match self.meta.far() {
            Some(place) if !self.meta.has_ended() => place.observe::<A>(),
            _ => Ok(()),
        }
    }

    fn unobserve(&self) {
        if let Some(place) = self.meta.far()
            && !self.meta.has_ended()
        {
            place.unobserve::<A>();
        }
    }

    fn set_far_end(self: Arc<Self>, reason: StopReason) -> bool {
        if !self.meta.is_far() || !self.meta.set_ended(reason.clone()) {
            return false;
        }
        if let Some(watches) = self.meta.watchers().end() {
            watches.tell(&self.clone().into_labelled(), &reason);
        }
        self.meta.announce_end();
        true
    }

    fn into_labelled(self: Arc<Self>) -> Arc<dyn Labelled> {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// Wakes the cell for housekeeping, wherever it is: the waker of an actor's timers.
impl<A: Actor> Wake for ActorCore<A> {
    fn wake(self: Arc<Self>) {
        self.call();
    }
}
