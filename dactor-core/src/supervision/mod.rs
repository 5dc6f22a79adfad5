//! Supervision strategies: pure functions that decide what happens after a failure.

pub(crate) mod directive;
pub(crate) mod strategy;
