//! Stashed messages.

pub(super) mod ends;
pub(super) mod handling;
pub(super) mod lanes;
