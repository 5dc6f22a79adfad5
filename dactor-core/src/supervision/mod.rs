//! What follows a failure: pure decisions.

pub(crate) mod directive;
pub(crate) mod strategy;
