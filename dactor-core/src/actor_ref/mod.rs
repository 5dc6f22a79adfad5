//! Sending messages: refs, recipients and asks.

pub(crate) mod actor_ref;
pub(crate) mod any_actor_ref;
pub(crate) mod ask;
pub(crate) mod outbound;
pub(crate) mod pending;
pub(crate) mod recipient;
pub(crate) mod send_builder;
pub(crate) mod stream;
