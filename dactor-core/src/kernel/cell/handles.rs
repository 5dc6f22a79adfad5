//! What an adapter can keep of a cell beside the cell: a way to end it, and how it ended.

use std::fmt;
use std::sync::{Arc, Weak};

use tokio::sync::SetOnce;

use super::{Exit, NativeEnd};
use crate::kernel::actor_core::DynActor;

/// Ends a cell from anywhere, for a native handle whose stop or drain does not reach the task that has the cell.
///
/// It keeps nothing alive, so the host itself may have one.
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

/// An exit for a runtime that has none of its own: the task tells it, native handles wait for it.
///
/// Let the task own the teller beside its cell, so that it is dropped after the cell: an exit is then told only of an actor
/// that has ended.
pub fn exit_watch() -> (ExitTeller, ExitWatch) {
    let exit = Arc::new(SetOnce::new());
    (ExitTeller { exit: exit.clone() }, ExitWatch { exit })
}

/// Tells how a cell ended. Dropped without a word, because the native runtime dropped its task, it says
/// [`Exit::Killed`].
#[derive(Debug)]
pub struct ExitTeller {
    exit: Arc<SetOnce<Exit>>,
}

impl ExitTeller {
    /// Tells all watches, those that come later, too.
    pub fn tell(self, exit: Exit) {
        let _ = self.exit.set(exit);
    }
}

impl Drop for ExitTeller {
    fn drop(&mut self) {
        // Refused when the exit has been told.
        let _ = self.exit.set(Exit::Killed);
    }
}

/// Waits for an exit.
#[derive(Debug, Clone)]
pub struct ExitWatch {
    exit: Arc<SetOnce<Exit>>,
}

impl ExitWatch {
    /// How the cell ended, once it has.
    pub async fn exit(&self) -> Exit {
        self.exit.wait().await.clone()
    }
}
