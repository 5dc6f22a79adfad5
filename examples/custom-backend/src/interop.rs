use dactor_core::{Actor, ActorRef};

use crate::Handle;

/// Returns the native handle of a dactor actor.
pub trait TasksInterop {
    /// The native handle, if the actor runs on this backend and has started.
    fn task(&self) -> Option<&Handle>;
}

impl<A: Actor> TasksInterop for ActorRef<A> {
    fn task(&self) -> Option<&Handle> {
        self.native()?.downcast_ref()
    }
}
