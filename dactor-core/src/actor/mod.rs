//! The API for writing actors: traits, context, timers, streams, watches and the stash.

pub(crate) mod actor;
pub(crate) mod context;
pub(crate) mod deferred;
pub(crate) mod factory;
pub(crate) mod stash;
pub(crate) mod stream;
pub(crate) mod streams;
pub(crate) mod timers;
pub(crate) mod watch;
