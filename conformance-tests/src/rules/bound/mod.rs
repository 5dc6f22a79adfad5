//! Bounded mailboxes.

pub(super) mod capacity;
pub(super) mod withdrawn;
