//! Interactions of cancellation, delays, forwards and panics.

pub(super) mod cancel;
pub(super) mod interceptor;
pub(super) mod reply;
