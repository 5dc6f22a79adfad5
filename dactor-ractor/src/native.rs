use std::any::Any;
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use dactor_core::spi::{Cell, Exit, NativeEnd, TurnEnd};
use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SupervisionEvent};

/// The ractor actor that hosts a cell.
///
/// The cell is in the actor value, not in its `State`: on a kill, the state is moved into the supervisor's
/// event and would be dropped with it.
pub(crate) struct CellActor {
    cell: Mutex<Cell>,
}

impl CellActor {
    pub(crate) fn new(cell: Cell) -> Self {
        Self { cell: Mutex::new(cell) }
    }

    /// Only the actor's own task takes the lock, so it is never contended.
    fn cell(&self) -> MutexGuard<'_, Cell> {
        self.cell.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn turn(&self, myself: &ActorRef<()>) -> Result<(), ActorProcessingErr> {
        loop {
            match poll_fn(|cx| self.cell().poll_turn(cx)).await {
                TurnEnd::Idle => return Ok(()),
                // Refused when ractor drains and schedules no further turn, so the turns continue here.
                TurnEnd::More if myself.cast(()).is_err() => {}
                TurnEnd::More => return Ok(()),
                TurnEnd::Ended(Exit::Normal) => {
                    myself.stop(None);
                    return Ok(());
                }
                TurnEnd::Ended(Exit::Killed) => {
                    myself.kill();
                    return Ok(());
                }
                TurnEnd::Ended(Exit::Failed(error)) => return Err(error.into()),
            }
        }
    }
}

impl Actor for CellActor {
    type Msg = ();
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<()>, (): ()) -> Result<(), ActorProcessingErr> {
        self.cell().bind(RactorHandle { actor: myself });
        Ok(())
    }

    async fn handle(&self, myself: ActorRef<()>, (): (), (): &mut ()) -> Result<(), ActorProcessingErr> {
        self.turn(&myself).await
    }

    /// The end of a supervised or linked actor must not end this one, as ractor's default would.
    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<()>,
        _: SupervisionEvent,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    /// Also runs after a native stop or drain, when the cell has not ended yet.
    async fn post_stop(&self, myself: ActorRef<()>, (): &mut ()) -> Result<(), ActorProcessingErr> {
        self.cell().end(if is_stop_requested(&myself) { NativeEnd::Stop } else { NativeEnd::Drain });
        match poll_fn(|cx| self.cell().poll_run(cx)).await {
            Exit::Normal => Ok(()),
            Exit::Failed(error) => Err(error.into()),
            Exit::Killed => {
                // ractor reports a kill only for work that it interrupts itself.
                myself.kill();
                pending().await
            }
        }
    }
}

/// Whether an ending actor was stopped; otherwise it was drained.
///
/// ractor does not tell `post_stop`, but it takes only one stop request: a second one is refused at once, and the
/// first one waits for the end. A first request has no effect here, because the actor is already ending.
fn is_stop_requested(ending: &ActorCell) -> bool {
    pin!(ending.stop_and_wait(None, None)).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// The ractor actor, as seen by its senders.
struct RactorHandle {
    actor: ActorRef<()>,
}

impl dactor_core::spi::NativeHandle for RactorHandle {
    fn wake(&self) {
        // Refused when the actor is ending: its end refuses the queued messages.
        let _ = self.actor.cast(());
    }

    fn stop(&self) {
        self.actor.stop(None);
    }

    fn native(&self) -> &(dyn Any + Send + Sync) {
        let cell: &ActorCell = &self.actor;
        cell
    }
}
