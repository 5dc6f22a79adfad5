//! The lock and atomics of model-checked modules: std's, or loom's in a model.

#[cfg(all(test, dactor_loom))]
pub(crate) use loom::sync::{Mutex, MutexGuard, atomic};
#[cfg(not(all(test, dactor_loom)))]
pub(crate) use std::sync::{Mutex, MutexGuard, atomic};

#[cfg(all(test, dactor_loom))]
pub(crate) mod model;
