//! Handles that an adapter can keep beside a cell: one to end it, and one to observe its exit.

use std::fmt;
use std::sync::{Arc, Weak};

use tokio::sync::SetOnce;

use super::{Exit, NativeEnd};
use crate::kernel::actor_core::DynActor;

/// Ends a cell from anywhere, for a native handle whose stop or drain does not reach the task that owns the
/// cell.
///
/// A weak handle: the host itself may hold one.
#[derive(Clone)]
pub struct Ender {
    actor: Weak<dyn DynActor>,
}

impl Ender {
    pub(super) fn new(actor: &Arc<dyn DynActor>) -> Self {
        Self { actor: Arc::downgrade(actor) }
    }

    /// Does what [`Cell::end`](super::Cell::end) does, from any thread.
    pub fn end(&self, how: NativeEnd) {
        if let Some(actor) = self.actor.upgrade() {
            actor.end(how.into());
        }
    }
}

impl fmt::Debug for Ender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = self.actor.upgrade().map(|actor| actor.label());
        f.debug_tuple("Ender").field(&label).finish()
    }
}

/// An exit notification for runtimes that have none: the task tells the exit, native handles wait for it.
///
/// Let the task own the teller and drop it after the cell, so that the exit is told only after the actor has
/// ended.
pub fn exit_watch() -> (ExitTeller, ExitWatch) {
    let exit = Arc::new(SetOnce::new());
    (ExitTeller { exit: exit.clone() }, ExitWatch { exit })
}

/// Tells how a cell ended. Dropped without telling, because the native runtime dropped its task, it reports
/// [`Exit::Killed`].
#[derive(Debug)]
pub struct ExitTeller {
    exit: Arc<SetOnce<Exit>>,
}

impl ExitTeller {
    /// Notifies all current and future watches.
    pub fn tell(self, exit: Exit) {
        let _ = self.exit.set(exit);
    }
}

impl Drop for ExitTeller {
    fn drop(&mut self) {
        // Refused when the exit has already been told.
        let _ = self.exit.set(Exit::Killed);
    }
}

/// Waits for an exit.
#[derive(Debug, Clone)]
pub struct ExitWatch {
    exit: Arc<SetOnce<Exit>>,
}

impl ExitWatch {
    /// Waits for the exit.
    pub async fn exit(&self) -> Exit {
        self.exit.wait().await.clone()
    }
}
