//! What a runtime does for the kernel.

use std::any::Any;

use crate::Result;
use crate::kernel::cell::Cell;

/// A runtime that can host actors.
pub trait Backend: Send + Sync + 'static {
    /// The name of the runtime, for people.
    fn name(&self) -> &'static str;

    /// Creates a native actor around the cell, on the tokio runtime in which it is called.
    ///
    /// # Errors
    ///
    /// When the runtime refuses. The cell is dropped then, and the error is returned by `spawn`.
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

/// The native actor of one cell, as seen by everyone who sends to it.
pub trait NativeHandle: Send + Sync + 'static {
    /// Makes the native actor run [`Cell::poll_turn`] soon, without blocking.
    ///
    /// It is called on the thread of the sender: any thread, also one without a tokio runtime, and also inside a handler
    /// or a destructor. A wake that comes while a turn runs or ends asks for another turn.
    ///
    /// A wake that the native actor refuses, because it is ending, may be ignored: the end of the cell takes
    /// care of what is queued. A resident cell needs none.
    fn wake(&self) {}

    /// Ends an idle actor that has been asked to stop. A wake, the default, is always right.
    ///
    /// A runtime whose own stop costs less than a turn may use it here; it must lead to [`Cell::end`], which asks for the
    /// turn that is still needed. From any thread, like a wake.
    fn stop(&self) {
        self.wake();
    }

    /// The native handle, for [`ActorRef::native`](crate::ActorRef::native).
    fn native(&self) -> &(dyn Any + Send + Sync);
}
