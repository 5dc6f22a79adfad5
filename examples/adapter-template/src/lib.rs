//! A template for a dactor adapter: each actor is a tokio task with a resident cell.
//!
//! Copy the package, replace the task by an actor of your runtime, and keep the tests passing. The adapter guide in
//! dactor's `docs` describes the steps.

use std::any::Any;

use dactor_core::Result;
use dactor_core::spi::{Backend, Cell, Ender, NativeHandle};

/// Creates the backend, for `SystemBuilder::backend`.
pub fn backend() -> Template {
    Template
}

/// The backend.
#[derive(Debug, Clone, Copy)]
pub struct Template;

impl Backend for Template {
    fn name(&self) -> &'static str {
        "template"
    }

    fn spawn(&self, mut cell: Cell) -> Result<()> {
        // Bind before the cell can run, and before `spawn` returns.
        cell.bind(TaskHandle(cell.ender()));
        tokio::spawn(async move {
            // An adapter for an actor runtime reports `Exit::Failed` to native supervisors here.
            let _exit = cell.run().await;
        });
        Ok(())
    }
}

/// The native handle that users of the runtime get. An actor runtime has its own.
struct TaskHandle(Ender);

// A resident cell is woken by its waker, so `wake` is not implemented.
impl NativeHandle for TaskHandle {
    fn native(&self) -> &(dyn Any + Send + Sync) {
        &self.0
    }
}
