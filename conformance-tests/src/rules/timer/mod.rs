//! Timers and idle timeouts.

pub(super) mod ends;
pub(super) mod idle;
pub(super) mod schedule;
