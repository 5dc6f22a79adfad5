//! Streams whose items are an actor's messages.

pub(super) mod ends;
pub(super) mod items;
