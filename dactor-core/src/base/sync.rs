//! The lock and the atomics of the modules that are model-checked: the standard ones, and loom's in their models.

#[cfg(all(test, dactor_loom))]
pub(crate) use loom::sync::{Mutex, MutexGuard, atomic};
#[cfg(not(all(test, dactor_loom)))]
pub(crate) use std::sync::{Mutex, MutexGuard, atomic};

#[cfg(all(test, dactor_loom))]
pub(crate) mod model;
