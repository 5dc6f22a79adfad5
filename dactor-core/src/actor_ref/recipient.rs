use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::actor_ref::any_actor_ref::sealed::Sealed;
use crate::actor_ref::ask::{Ask, Target};
use crate::base::label::{hash_actor, is_same_actor};
use crate::kernel::actor_core::wait;
use crate::message::options::SendOptions;
use crate::path::ActorUid;
use crate::{
    ActorPath, AnyActorRef, Header, Message, Pid, Priority, Result, SendBuilder, SendError, StopReason,
    Watchable,
};

/// A ref to any actor that handles `M`, with the actor's type erased. Two recipients are equal when they
/// refer to the same actor.
pub struct Recipient<M: Message> {
    pub(crate) target: Arc<dyn Target<M>>,
}

impl<M: Message> Recipient<M> {
    pub(crate) fn new(target: Arc<dyn Target<M>>) -> Self {
        Self { target }
    }

    /// See [`ActorRef::tell`](crate::ActorRef::tell).
    pub fn tell(&self, message: M) -> Result<()> {
        self.target.tell(message, SendOptions::of::<M>())
    }

    /// See [`ActorRef::try_tell`](crate::ActorRef::try_tell).
    pub fn try_tell(&self, message: M) -> Result<(), SendError<M>> {
        self.target.try_tell(message, SendOptions::of::<M>())
    }

    /// See [`ActorRef::send`](crate::ActorRef::send).
    pub async fn send(&self, message: M) -> Result<()> {
        self.target.send(message, SendOptions::of::<M>()).await
    }

    /// See [`ActorRef::ask`](crate::ActorRef::ask).
    pub fn ask(&self, message: M) -> Ask<'_, M> {
        Ask::new(&*self.target, message, SendOptions::of::<M>()).or_timeout(self.target.ask_timeout())
    }

    /// See [`ActorRef::at`](crate::ActorRef::at).
    pub fn at(&self, priority: Priority) -> SendBuilder<'_, Self> {
        SendBuilder::new(self).at(priority)
    }

    /// See [`ActorRef::header`](crate::ActorRef::header).
    pub fn header(&self, header: impl Header) -> SendBuilder<'_, Self> {
        SendBuilder::new(self).header(header)
    }

    /// The actor's path: see [`ActorRef::path`](crate::ActorRef::path).
    pub fn path(&self) -> ActorPath {
        self.target.path()
    }

    /// The actor's id.
    pub fn id(&self) -> Pid {
        self.target.pid()
    }

    /// The UID: which incarnation at its path the actor is.
    pub fn uid(&self) -> ActorUid {
        self.target.uid()
    }

    /// See [`ActorRef::is_alive`](crate::ActorRef::is_alive).
    pub fn is_alive(&self) -> Option<bool> {
        self.target.erased().meta().is_alive()
    }

    /// See [`ActorRef::stop_reason`](crate::ActorRef::stop_reason).
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.target.erased().meta().stop_reason().cloned()
    }

    /// See [`ActorRef::wait`](crate::ActorRef::wait).
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn wait(&self) -> Result<StopReason> {
        wait(self.target.erased()).await
    }
}

impl<M: Message> Sealed for Recipient<M> {}
impl<M: Message> Watchable for Recipient<M> {
    fn to_any(&self) -> AnyActorRef {
        AnyActorRef::new(self.target.erased())
    }
}

/// Compares actors; the interceptors of the refs are not compared.
impl<M: Message> PartialEq for Recipient<M> {
    fn eq(&self, other: &Self) -> bool {
        is_same_actor(&*self.target, &*other.target)
    }
}

impl<M: Message> Eq for Recipient<M> {}

impl<M: Message> Hash for Recipient<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_actor(&*self.target, state);
    }
}

impl<M: Message> Clone for Recipient<M> {
    fn clone(&self) -> Self {
        Self { target: self.target.clone() }
    }
}

impl<M: Message> fmt::Debug for Recipient<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recipient").field(&self.target.label()).finish()
    }
}
