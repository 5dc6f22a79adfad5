// A backend for tests: each actor is a tokio task. Included by the tests of the crate and by the examples of its
// interceptors.

use std::any::Any;
use std::future::poll_fn;

use dactor_core::Result;
use dactor_core::spi::{Backend, Cell, NativeHandle};

#[derive(Debug, Clone, Copy)]
pub(crate) struct TokioTasks;

impl Backend for TokioTasks {
    fn name(&self) -> &'static str {
        "tokio-tasks"
    }

    fn spawn(&self, mut cell: Cell) -> Result<()> {
        cell.bind(Self);
        tokio::spawn(poll_fn(move |cx| cell.poll_run(cx).map(drop)));
        Ok(())
    }
}

impl NativeHandle for TokioTasks {
    fn native(&self) -> &(dyn Any + Send + Sync) {
        self
    }
}
