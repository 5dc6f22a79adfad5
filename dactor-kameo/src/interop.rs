use dactor_core::ActorRef;

use crate::DactorActor;

/// Access from a dactor ref to its kameo actor.
pub trait KameoInterop {
    /// The native ref, when the actor runs on kameo and has started.
    fn kameo(&self) -> Option<&kameo::actor::ActorRef<DactorActor>>;
}

impl<A: dactor_core::Actor> KameoInterop for ActorRef<A> {
    fn kameo(&self) -> Option<&kameo::actor::ActorRef<DactorActor>> {
        self.native()?.downcast_ref()
    }
}
