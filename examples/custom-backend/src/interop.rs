use dactor_core::{Actor, ActorRef};

use crate::Handle;

/// The way from a dactor ref to its task.
pub trait TasksInterop {
    /// The native handle, when the actor runs on a task of this backend and has started.
    fn task(&self) -> Option<&Handle>;
}

impl<A: Actor> TasksInterop for ActorRef<A> {
    fn task(&self) -> Option<&Handle> {
        self.native()?.downcast_ref()
    }
}
