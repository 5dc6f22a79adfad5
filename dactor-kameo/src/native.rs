use std::any::Any;
use std::fmt;
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::task::Poll;

use dactor_core::Error;
use dactor_core::spi::{Cell, Exit, NativeEnd};
use kameo::Actor;
use kameo::actor::{ActorId, ActorRef, WeakActorRef};
use kameo::error::{ActorStopReason, PanicError};
use kameo::mailbox::{MailboxReceiver, Signal};

/// The kameo actor that hosts a cell.
#[derive(Debug)]
pub struct DactorActor {
    cell: Cell,
}

/// Why kameo's loop ended abnormally.
#[derive(Debug)]
pub enum Abnormal {
    /// The actor was killed.
    Killed,
    /// The actor failed.
    Failed(Error),
}

impl fmt::Display for Abnormal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed => f.write_str("killed"),
            // kameo keeps only the text, so it includes the causes.
            Self::Failed(error) => write!(f, "{error:#}"),
        }
    }
}

impl Actor for DactorActor {
    type Args = Cell;
    type Error = Abnormal;

    fn name() -> &'static str {
        "dactor"
    }

    async fn on_start(cell: Cell, _: ActorRef<Self>) -> Result<Self, Abnormal> {
        Ok(Self { cell })
    }

    /// Runs the cell while kameo waits for its next signal.
    async fn next(
        &mut self,
        _: WeakActorRef<Self>,
        signals: &mut MailboxReceiver<Self>,
    ) -> Result<Option<Signal<Self>>, Abnormal> {
        poll_fn(|cx| match self.cell.poll_run(cx) {
            Poll::Ready(Exit::Normal) => Poll::Ready(Ok(None)),
            Poll::Ready(Exit::Killed) => Poll::Ready(Err(Abnormal::Killed)),
            Poll::Ready(Exit::Failed(error)) => Poll::Ready(Err(Abnormal::Failed(error))),
            Poll::Pending => signals.poll_recv(cx).map(Ok),
        })
        .await
    }

    async fn on_panic(
        &mut self,
        _: WeakActorRef<Self>,
        error: PanicError,
    ) -> Result<ControlFlow<ActorStopReason>, Abnormal> {
        let killed = error.with_downcast_ref(|abnormal: &Abnormal| matches!(abnormal, Abnormal::Killed));
        Ok(ControlFlow::Break(match killed {
            Some(true) => ActorStopReason::Killed,
            _ => ActorStopReason::Panicked(error),
        }))
    }

    /// The end of a linked actor must not end this one, as kameo's default would.
    async fn on_link_died(
        &mut self,
        _: WeakActorRef<Self>,
        _: ActorId,
        _: ActorStopReason,
    ) -> Result<ControlFlow<ActorStopReason>, Abnormal> {
        Ok(ControlFlow::Continue(()))
    }

    /// Also runs after a native stop or kill, when the cell has not ended yet.
    async fn on_stop(&mut self, _: WeakActorRef<Self>, reason: ActorStopReason) -> Result<(), Abnormal> {
        self.cell.end(match reason {
            ActorStopReason::Killed => NativeEnd::Kill,
            _ => NativeEnd::Drain,
        });
        match self.cell.run().await {
            // kameo already has this failure as its reason, and would log it again as an error of the hook.
            Exit::Failed(_) if matches!(reason, ActorStopReason::Panicked(_)) => Ok(()),
            Exit::Failed(error) => Err(Abnormal::Failed(error)),
            Exit::Normal | Exit::Killed => Ok(()),
        }
    }
}

/// The kameo actor, as seen by its senders.
pub(crate) struct KameoHandle {
    actor: ActorRef<DactorActor>,
}

impl KameoHandle {
    pub(crate) fn new(actor: ActorRef<DactorActor>) -> Self {
        Self { actor }
    }
}

impl dactor_core::spi::NativeHandle for KameoHandle {
    fn native(&self) -> &(dyn Any + Send + Sync) {
        &self.actor
    }
}
