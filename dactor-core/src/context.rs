use std::fmt;

use crate::{Actor, ActorRef, Pid, System};

/// What a handler or hook knows about its own actor.
pub struct Context<A: Actor> {
    myself: ActorRef<A>,
}

impl<A: Actor> Context<A> {
    pub(crate) fn new(myself: ActorRef<A>) -> Self {
        Self { myself }
    }

    /// The reference to this actor.
    pub fn actor_ref(&self) -> &ActorRef<A> {
        &self.myself
    }

    /// This actor's number.
    pub fn id(&self) -> Pid {
        self.myself.id()
    }

    /// This actor's name, if it was spawned with one.
    pub fn name(&self) -> Option<&str> {
        self.myself.name()
    }

    /// The system this actor lives in.
    pub fn system(&self) -> &System {
        self.myself.system()
    }

    /// Stops this actor after the current message: see [`ActorRef::stop`].
    pub fn stop(&self) {
        self.myself.stop();
    }
}

impl<A: Actor> fmt::Debug for Context<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Context").field(&self.myself).finish()
    }
}
