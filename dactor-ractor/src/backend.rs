use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use dactor_core::spi::{Backend, Cell};
use dactor_core::{Error, ErrorKind, Result};
use ractor::ActorRuntime;

use crate::native::CellActor;

/// The ractor backend.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ractor;

/// The ractor backend, to give to a system's builder.
pub fn ractor() -> Ractor {
    Ractor
}

impl Backend for Ractor {
    fn name(&self) -> &'static str {
        "ractor"
    }

    fn spawn(&self, cell: Cell) -> Result<()> {
        let refused =
            |error: &dyn std::fmt::Display| Err(Error::new(ErrorKind::Backend).because(error.to_string()));
        // ractor's spawn waits only for `pre_start`, and ours does not wait; without `unconstrained`, tokio's
        // coop budget could make it pend.
        let spawning = pin!(tokio::task::unconstrained(ActorRuntime::spawn(None, CellActor::new(cell), ())));
        match spawning.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(_)) => Ok(()),
            Poll::Ready(Err(error)) => refused(&error),
            Poll::Pending => refused(&"the spawn did not complete at once"),
        }
    }
}
