//! Interceptors of the sender.

pub(super) mod delay;
pub(super) mod ends;
pub(super) mod pipeline;
pub(super) mod unsent;
