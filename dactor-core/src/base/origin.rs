//! Where the actors of this process are, by their numbers.

use std::sync::{Mutex, PoisonError, Weak};

use crate::base::current;
use crate::base::pid::Pid;
use crate::path::ActorPath;

/// A system that knows the paths of its live actors.
pub(crate) trait Locate: Send + Sync {
    fn locate(&self, pid: Pid) -> Option<ActorPath>;
}

/// The systems of this process. A number does not say which one its actor lives in.
static SYSTEMS: Mutex<Vec<Weak<dyn Locate>>> = Mutex::new(Vec::new());

/// Lets the actors of a system be found, as long as it exists.
pub(crate) fn add(system: Weak<dyn Locate>) {
    let mut systems = SYSTEMS.lock().unwrap_or_else(PoisonError::into_inner);
    systems.retain(|system| system.strong_count() > 0);
    systems.push(system);
}

/// The path of a live actor of this process, with its UID.
pub(crate) fn path_of(pid: Pid) -> Option<ActorPath> {
    if pid == Pid::NOBODY {
        return None;
    }
    // A system that is let go of here is dropped outside of the lock.
    let systems = SYSTEMS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    systems.iter().filter_map(Weak::upgrade).find_map(|system| system.locate(pid))
}

/// The path of the actor whose code runs on this thread: the sender of what is sent here.
pub(crate) fn sender() -> Option<ActorPath> {
    path_of(current::actor())
}
