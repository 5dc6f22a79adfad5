//! Interceptors of the receiving actor.

pub(super) mod delay;
pub(super) mod ends;
pub(super) mod pipeline;
pub(super) mod scope;
