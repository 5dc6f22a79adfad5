use std::any::Any;
use std::sync::Arc;

use dactor_core::spi::{self, Cell, Ender, Exit, ExitTeller, ExitWatch, NativeEnd, TurnEnd};
use tokio::sync::{Notify, oneshot};
use tokio::task::{AbortHandle, JoinHandle};

/// The native handle of an actor: its task.
#[derive(Debug, Clone)]
pub struct Handle {
    pub(crate) ender: Ender,
    pub(crate) exit: ExitWatch,
    pub(crate) wakes: Arc<Notify>,
    pub(crate) task: AbortHandle,
}

impl Handle {
    /// Stops the task after the current message.
    pub fn stop(&self) {
        self.ender.end(NativeEnd::Stop);
    }

    /// Stops the task after all that the actor has accepted.
    pub fn drain(&self) {
        self.ender.end(NativeEnd::Drain);
    }

    /// Drops the task at its next await.
    pub fn kill(&self) {
        self.task.abort();
    }

    /// Links another task: this one is woken when it ends. What is returned ends when that has been done.
    pub fn link(&self, peer: JoinHandle<()>) -> JoinHandle<()> {
        let wakes = self.wakes.clone();
        tokio::spawn(async move {
            let _ = peer.await;
            wakes.notify_one();
        })
    }

    /// How the task ended, once it has.
    pub async fn exit(&self) -> Exit {
        self.exit.exit().await
    }
}

/// The handle as the cell knows it.
pub(crate) struct Native(pub(crate) Handle);

impl spi::Host for Native {
    fn wake(&self) {
        self.0.wakes.notify_one();
    }

    fn native(&self) -> &(dyn Any + Send + Sync) {
        &self.0
    }
}

/// The task. When it is dropped, its cell goes first and `told` last: whoever awaits the exit finds the actor dead.
pub(crate) async fn live(
    told: ExitTeller,
    arrival: oneshot::Receiver<Cell>,
    wakes: Arc<Notify>,
    by_turns: bool,
) {
    let Ok(mut cell) = arrival.await else { return };
    let exit = match by_turns {
        false => cell.run().await,
        true => turns(&mut cell, &wakes).await,
    };
    drop(cell);
    told.tell(exit);
}

/// The task sleeps until it is woken, then runs turns as long as there is more to do.
async fn turns(cell: &mut Cell, wakes: &Notify) -> Exit {
    loop {
        // A wake that comes during a turn is kept for after it.
        wakes.notified().await;
        loop {
            match cell.turn().await {
                TurnEnd::Idle => break,
                TurnEnd::More => {}
                TurnEnd::Ended(exit) => return exit,
            }
        }
    }
}
