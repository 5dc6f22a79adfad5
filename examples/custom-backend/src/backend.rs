use std::sync::Arc;

use dactor_core::spi::{Backend, Cell, exit_watch};
use dactor_core::{Error, ErrorKind, Result};
use tokio::sync::{Notify, oneshot};

use crate::native::{self, Handle, TaskHandle};

/// A backend that runs every actor in a bare tokio task.
#[derive(Debug, Clone, Copy)]
pub struct Tasks {
    by_turns: bool,
}

/// A backend with resident cells, for `SystemBuilder::backend`.
pub fn tasks() -> Tasks {
    Tasks { by_turns: false }
}

/// A backend that runs its cells by turns, for `SystemBuilder::backend`.
pub fn tasks_by_turns() -> Tasks {
    Tasks { by_turns: true }
}

impl Backend for Tasks {
    fn name(&self) -> &'static str {
        "tasks"
    }

    fn spawn(&self, cell: Cell) -> Result<()> {
        let (cells, arrival) = oneshot::channel();
        let (told, exit) = exit_watch();
        let wakes = Arc::new(Notify::new());
        let task = tokio::spawn(native::run_task(told, arrival, wakes.clone(), self.by_turns)).abort_handle();
        cell.bind(TaskHandle(Handle { ender: cell.ender(), exit, wakes, task }));
        // From now on the task can run the cell. `send` fails if the runtime is shutting down; the cell is dropped.
        cells
            .send(cell)
            .map_err(|_cell| Error::new(ErrorKind::Backend).because("the runtime takes no more tasks"))
    }
}
