use dactor_core::ActorRef;
use ractor::ActorCell;

/// Access from a dactor ref to its ractor actor.
pub trait RactorInterop {
    /// The native cell, when the actor runs on ractor and has started.
    fn ractor(&self) -> Option<&ActorCell>;
}

impl<A: dactor_core::Actor> RactorInterop for ActorRef<A> {
    fn ractor(&self) -> Option<&ActorCell> {
        self.native()?.downcast_ref()
    }
}
