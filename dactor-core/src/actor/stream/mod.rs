//! Requests whose answer, or whose content, is a stream of items.

pub(crate) mod far;
pub(crate) mod handlers;
pub(crate) mod input;
pub(crate) mod open;
pub(crate) mod producer;
pub(crate) mod request;
