use dactor_core::Result;
use dactor_core::spi::{Backend, Cell};
use kameo::actor::PreparedActor;
use kameo::mailbox;

use crate::native::{DactorActor, KameoHandle};

/// The kameo backend.
#[derive(Debug, Clone, Copy, Default)]
pub struct Kameo;

/// The kameo backend, to give to a system's builder.
pub fn kameo() -> Kameo {
    Kameo
}

impl Backend for Kameo {
    fn name(&self) -> &'static str {
        "kameo"
    }

    fn spawn(&self, cell: Cell) -> Result<()> {
        let prepared = PreparedActor::<DactorActor>::new(mailbox::unbounded());
        cell.bind(KameoHandle::new(prepared.actor_ref().clone()));
        prepared.spawn(cell);
        Ok(())
    }
}
