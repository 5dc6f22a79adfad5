//! Foundations: errors, panics, ids. Independent of actors.

pub(crate) mod current;
pub(crate) mod error;
pub(crate) mod exclusive;
pub(crate) mod failure;
pub(crate) mod foreign;
pub(crate) mod label;
pub(crate) mod origin;
pub(crate) mod panic;
pub(crate) mod pid;
pub(crate) mod random;
pub(crate) mod stop;
pub(crate) mod sync;
pub(crate) mod text;
pub(crate) mod uid;
