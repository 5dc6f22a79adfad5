//! Actor paths and selections.

pub(super) mod lookup;
pub(super) mod reason;
pub(super) mod selection;
