//! Runs dactor actors on bare tokio tasks: the worked example of `docs/adapter-guide.md`.
//!
//! Every dactor actor is a tokio task. [`TasksInterop`] returns its native handle, to stop, drain, kill, link and
//! watch it.

mod backend;
mod interop;
mod native;

pub use backend::{Tasks, tasks, tasks_by_turns};
pub use interop::TasksInterop;
pub use native::Handle;
