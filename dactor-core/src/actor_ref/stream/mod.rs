//! The caller's side of stream requests.

pub(crate) mod expand;
pub(crate) mod feed;
pub(crate) mod items;
pub(crate) mod limits;
mod methods;
pub(crate) mod reduce;
pub(crate) mod transform;

/// Default buffer size of a stream, in items.
pub(crate) const BUFFER: usize = 32;
