use std::sync::Arc;

use dactor_core::spi::{Backend, Cell, exit_watch};
use dactor_core::{Error, ErrorKind, Result};
use tokio::sync::{Notify, oneshot};

use crate::host::{self, Handle, Native};

/// The backend on bare tokio tasks.
#[derive(Debug, Clone, Copy)]
pub struct Tasks {
    by_turns: bool,
}

/// The backend whose tasks keep their cells running, to give to a system's builder.
pub fn tasks() -> Tasks {
    Tasks { by_turns: false }
}

/// The backend whose tasks run a turn of their cell for each wake, to give to a system's builder.
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
        let task = tokio::spawn(host::live(told, arrival, wakes.clone(), self.by_turns)).abort_handle();
        cell.bind(Native(Handle { ender: cell.ender(), exit, wakes, task }));
        // Only now can the task run it. It comes back, and is dropped, when the runtime is shutting down.
        cells
            .send(cell)
            .map_err(|_cell| Error::new(ErrorKind::Backend).because("the runtime takes no more tasks"))
    }
}
