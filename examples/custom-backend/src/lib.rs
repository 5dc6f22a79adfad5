//! Runs dactor actors on bare tokio tasks: the worked example of `docs/adapter-guide.md`.
//!
//! Every dactor actor is a tokio task. [`TasksInterop`] gives its native handle, to stop, drain, kill, link and
//! watch it.

mod backend;
mod host;
mod interop;

pub use backend::{Tasks, tasks, tasks_by_turns};
pub use host::Handle;
pub use interop::TasksInterop;
