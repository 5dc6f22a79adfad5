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

    /// Stops the task after the actor has handled all accepted messages.
    pub fn drain(&self) {
        self.ender.end(NativeEnd::Drain);
    }

    /// Drops the task at its next await.
    pub fn kill(&self) {
        self.task.abort();
    }

    /// Links another task: its end wakes this task. The returned task completes after the wake.
    pub fn link(&self, peer: JoinHandle<()>) -> JoinHandle<()> {
        let wakes = self.wakes.clone();
        tokio::spawn(async move {
            let _ = peer.await;
            wakes.notify_one();
        })
    }

    /// Waits until the task has ended, and returns how.
    pub async fn exit(&self) -> Exit {
        self.exit.exit().await
    }
}

/// The handle through which the cell wakes its task.
pub(crate) struct TaskHandle(pub(crate) Handle);

impl spi::NativeHandle for TaskHandle {
    fn wake(&self) {
        self.0.wakes.notify_one();
    }

    fn native(&self) -> &(dyn Any + Send + Sync) {
        &self.0
    }
}

/// The task of one actor. It drops the cell before `told`, so the actor has ended when `Handle::exit` returns.
pub(crate) async fn run_task(
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

/// Waits for a wake, then runs turns until the cell is idle.
async fn turns(cell: &mut Cell, wakes: &Notify) -> Exit {
    loop {
        // `Notify` stores a wake that arrives during a turn.
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
