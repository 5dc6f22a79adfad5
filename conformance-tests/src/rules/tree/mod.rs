//! Parents and children.

pub(super) mod deadline;
pub(super) mod depth;
pub(super) mod ends;
pub(super) mod spawn;
