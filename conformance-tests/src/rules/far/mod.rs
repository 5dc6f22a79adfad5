//! Actors of another system, through a link on which everything travels as frames.

pub(crate) mod coverage;
pub(crate) mod ends;
pub(crate) mod faults;
pub(crate) mod messages;
pub(crate) mod refs;
pub(crate) mod streams;
