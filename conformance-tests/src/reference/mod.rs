//! A backend of plain tokio tasks: a minimal implementation of the adapter contract.

mod handle;
mod task;

use dactor_core::Result;
use dactor_core::spi::{Backend, Cell};
use tokio::sync::mpsc;

pub use handle::Handle;
pub(crate) use task::Flaws;

use crate::mutants::{self, Flaw};
use crate::{Native, NativeProbe, Subject, Task, Watch};

/// How the reference backend runs its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// The task polls the cell continuously.
    Resident,
    /// The task runs one turn per wake-up.
    Turns,
}

/// A backend of tokio tasks and channels, which is its own subject.
#[derive(Debug, Clone, Copy)]
pub struct Reference {
    name: &'static str,
    style: Style,
    flaw: Flaws,
}

impl Reference {
    /// A correct backend.
    pub fn new(style: Style) -> Self {
        let name = match style {
            Style::Resident => "reference-resident",
            Style::Turns => "reference-turns",
        };
        Self { name, style, flaw: Flaws::none() }
    }

    pub(crate) fn broken(name: &'static str, style: Style, flaw: Flaw) -> Self {
        Self { name, style, flaw: Flaws::one(flaw) }
    }
}

impl Backend for Reference {
    fn name(&self) -> &'static str {
        self.name
    }

    fn spawn(&self, cell: Cell) -> Result<()> {
        let (sender, signals) = mpsc::unbounded_channel();
        let handle = Handle::new(sender, self.flaw);
        if !self.flaw.is(Flaw::BindsLate) {
            cell.bind(handle.native_handle());
        }
        let task = task::run(cell, signals, handle, self.style, self.flaw);
        mutants::launch(task, self.flaw);
        Ok(())
    }
}

impl Subject for Reference {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backend(&self) -> Box<dyn Backend> {
        Box::new(*self)
    }

    fn native(&self) -> Result<&dyn NativeProbe, &'static str> {
        Ok(self)
    }
}

impl NativeProbe for Reference {
    fn stop<'a>(&'a self, actor: &'a Native) -> Task<'a, ()> {
        Box::pin(async { handle(actor).stop() })
    }

    fn drain<'a>(&'a self, actor: &'a Native) -> Task<'a, ()> {
        Box::pin(async { handle(actor).drain() })
    }

    fn kill<'a>(&'a self, actor: &'a Native) -> Task<'a, ()> {
        Box::pin(async { handle(actor).kill() })
    }

    fn watch<'a>(&'a self, actor: &'a Native) -> Task<'a, Watch> {
        Box::pin(async {
            let handle = handle(actor).clone();
            Watch::new(async move { handle.exit().await })
        })
    }

    fn peer_dies<'a>(&'a self, actor: &'a Native) -> Task<'a, ()> {
        Box::pin(async { handle(actor).peer_died() })
    }
}

fn handle(actor: &Native) -> &Handle {
    actor.downcast_ref().expect("the native actor of the reference backend is a handle")
}
