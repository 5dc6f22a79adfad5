//! Messages, their priorities and headers.

pub(crate) mod access;
pub(crate) mod headers;
pub(crate) mod items;
pub(crate) mod message;
pub(crate) mod mode;
pub(crate) mod options;
pub(crate) mod priority;
pub(crate) mod stream;
pub(crate) mod wire;
