//! The paths of actors, as another process has to see them.

use std::cell::Cell;

use crate::path::ActorPath;

/// Gives a path the address by which another process reaches the actor.
pub(crate) type External = fn(&ActorPath) -> Option<ActorPath>;

thread_local! {
    /// While a message is encoded for another process.
    static EXTERNAL: Cell<Option<External>> = const { Cell::new(None) };
}

/// Sets how paths are encoded by this thread, and gives how they were before.
#[cfg(feature = "wire")]
pub(crate) fn replace(external: Option<External>) -> Option<External> {
    EXTERNAL.try_with(|current| current.replace(external)).ok().flatten()
}

/// The path for another process, if it has to be another one there.
pub(super) fn of(path: &ActorPath) -> Option<ActorPath> {
    let external = EXTERNAL.try_with(Cell::get).ok().flatten()?;
    external(path)
}
