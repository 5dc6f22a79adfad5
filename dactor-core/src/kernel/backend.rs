//! The interface of a runtime to the kernel.

use std::any::Any;

use crate::Result;
use crate::kernel::cell::Cell;

/// A runtime that can host actors.
pub trait Backend: Send + Sync + 'static {
    /// The name of the runtime.
    fn name(&self) -> &'static str;

    /// Creates a native actor around the cell, on the current tokio runtime.
    ///
    /// # Errors
    ///
    /// When the runtime refuses. The cell is then dropped, and `spawn` returns the error.
    fn spawn(&self, cell: Cell) -> Result<()>;
}

impl Backend for Box<dyn Backend> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn spawn(&self, cell: Cell) -> Result<()> {
        (**self).spawn(cell)
    }
}

/// The native actor of one cell, as seen by its senders.
pub trait NativeHandle: Send + Sync + 'static {
    /// Makes the native actor run [`Cell::poll_turn`] soon, without blocking.
    ///
    /// Called on the sender's thread: any thread, possibly without a tokio runtime, and possibly inside a
    /// handler or a destructor. A wake during or at the end of a turn requests another turn.
    ///
    /// A native actor that is ending may ignore the wake: the end of the cell takes care of the queued
    /// messages. A resident cell needs no wakes.
    fn wake(&self) {}

    /// Stops an idle actor. The default, a wake, is always correct.
    ///
    /// A runtime whose native stop is cheaper than a turn may use it here; it must lead to [`Cell::end`],
    /// which requests the turn that is still needed. Called from any thread, like `wake`.
    fn stop(&self) {
        self.wake();
    }

    /// The native handle, for [`ActorRef::native`](crate::ActorRef::native).
    fn native(&self) -> &(dyn Any + Send + Sync);
}
