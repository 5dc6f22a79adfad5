//! User code around messages: the interceptor traits, and how a chain of interceptors runs.

pub(crate) mod api;
pub(crate) mod chain;
pub(crate) mod items;
pub(crate) mod stream;
