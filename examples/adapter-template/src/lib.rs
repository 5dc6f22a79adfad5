//! A dactor adapter to begin with: each actor is a tokio task that keeps its cell running.
//!
//! Copy the package, replace the task by an actor of your runtime, and keep the tests passing. The adapter guide in
//! dactor's `docs` says what there is to do, and in which order.

use std::any::Any;

use dactor_core::Result;
use dactor_core::spi::{Backend, Cell, Ender, Host};

/// The backend, to give to a system's builder.
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
        // Before the cell can run, and before this returns.
        cell.bind(Native(cell.ender()));
        tokio::spawn(async move {
            // An actor runtime reports `Exit::Failed` to its supervisors here.
            let _exit = cell.run().await;
        });
        Ok(())
    }
}

/// The native handle, for users of the runtime. An actor runtime has its own.
struct Native(Ender);

// The cell stays in its task and is woken by its waker, so `wake` is left out.
impl Host for Native {
    fn native(&self) -> &(dyn Any + Send + Sync) {
        &self.0
    }
}
