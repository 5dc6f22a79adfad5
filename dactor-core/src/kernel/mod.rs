//! The running actor: its shared state, its task, its family.

pub(crate) mod actor_core;
pub(crate) mod backend;
pub(crate) mod cell;
pub(crate) mod cycles;
pub(crate) mod ended;
pub(crate) mod family;
pub(crate) mod linger;
pub(crate) mod live_path;
pub(crate) mod registry;
pub(crate) mod stopping;
pub(crate) mod task;
pub(crate) mod turn;
pub(crate) mod watchers;
