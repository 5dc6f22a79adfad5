//! The actor system: spawning, events, lookup and shutdown.

pub(crate) mod config;
pub(crate) mod event;
pub(crate) mod far;
pub(crate) mod get_or_spawn;
pub(crate) mod lookup;
pub(crate) mod phases;
pub(crate) mod runtime;
pub(crate) mod select;
pub(crate) mod shutdown;
pub(crate) mod shutdown_state;
pub(crate) mod signals;
pub(crate) mod spawn;
pub(crate) mod system;
#[cfg(test)]
pub(crate) mod test_actors;
pub(crate) mod tree;
mod watch;
