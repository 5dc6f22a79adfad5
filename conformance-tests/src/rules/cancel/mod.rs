//! Cancelled asks, timeouts and deadlines.

pub(super) mod deadline;
pub(super) mod token;
