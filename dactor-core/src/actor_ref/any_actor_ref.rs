use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::base::label::{hash_actor, is_same_actor};
use crate::kernel::actor_core::{DynActor, wait};
use crate::path::ActorUid;
use crate::{Actor, ActorPath, ActorRef, End, Pid, Result, StopReason};

/// A ref to an actor whose type is not known: found by its path, or listed among others.
#[derive(Clone)]
pub struct AnyActorRef {
    actor: Arc<dyn DynActor>,
}

impl AnyActorRef {
    pub(crate) fn new(actor: Arc<dyn DynActor>) -> Self {
        Self { actor }
    }

    pub(crate) fn erased(&self) -> &Arc<dyn DynActor> {
        &self.actor
    }

    pub(crate) fn into_erased(self) -> Arc<dyn DynActor> {
        self.actor
    }

    /// Its path, with its UID.
    pub fn path(&self) -> ActorPath {
        self.actor.path()
    }

    /// Its number.
    pub fn id(&self) -> Pid {
        self.actor.pid()
    }

    /// Which incarnation at its path it is.
    pub fn uid(&self) -> ActorUid {
        self.actor.uid()
    }

    /// Its type.
    pub fn actor_type(&self) -> &'static str {
        self.actor.actor_type()
    }

    /// The ref, if it is an `A`.
    pub fn actor_ref<A: Actor>(&self) -> Option<ActorRef<A>> {
        ActorRef::known(self.actor.clone())
    }

    /// See [`ActorRef::is_alive`].
    pub fn is_alive(&self) -> Option<bool> {
        self.actor.meta().is_alive()
    }

    /// See [`ActorRef::stop_reason`].
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.actor.meta().stop_reason().cloned()
    }

    /// See [`ActorRef::end`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn end(&self, how: End) -> Result<()> {
        self.actor.request_end(how)
    }

    /// See [`ActorRef::wait`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn wait(&self) -> Result<StopReason> {
        wait(self.actor.clone()).await
    }
}

/// The same actor, not only the same path.
impl PartialEq for AnyActorRef {
    fn eq(&self, other: &Self) -> bool {
        is_same_actor(&*self.actor, &*other.actor)
    }
}

impl Eq for AnyActorRef {}

impl Hash for AnyActorRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_actor(&*self.actor, state);
    }
}

impl fmt::Debug for AnyActorRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyActorRef")
            .field("path", &self.path())
            .field("actor_type", &self.actor_type())
            .finish()
    }
}

/// What can be [watched](crate::Context::watch): an [`ActorRef`], a [`Recipient`](crate::Recipient) or an [`AnyActorRef`].
///
/// It is implemented for these and for nothing else.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a reference to an actor that can be watched")]
pub trait Watchable: sealed::Sealed {
    #[doc(hidden)]
    fn to_any(&self) -> AnyActorRef;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

impl<A: Actor> sealed::Sealed for ActorRef<A> {}
impl<A: Actor> Watchable for ActorRef<A> {
    fn to_any(&self) -> AnyActorRef {
        AnyActorRef::new(self.core.clone())
    }
}

impl sealed::Sealed for AnyActorRef {}
impl Watchable for AnyActorRef {
    fn to_any(&self) -> AnyActorRef {
        self.clone()
    }
}

impl<W: sealed::Sealed + ?Sized> sealed::Sealed for &W {}
impl<W: Watchable + ?Sized> Watchable for &W {
    fn to_any(&self) -> AnyActorRef {
        W::to_any(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Guardian;
    use crate::system::test_actors::{system, test_actor};

    #[test]
    fn refs_of_any_type_are_equal_for_one_actor() {
        let system = system();
        let [one, other] = [(); 2].map(|()| test_actor(&system, Guardian::User));
        let actor = AnyActorRef::new(one.clone());
        assert!(actor == AnyActorRef::new(one));
        assert!(actor != AnyActorRef::new(other));
    }
}
