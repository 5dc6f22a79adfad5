use std::any::Any;
use std::future::poll_fn;
use std::task::Poll;

use dactor_core::spi::{self, Cell, Exit, NativeEnd, TurnEnd};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinHandle};

/// What a task is sent: no messages of the application, only what a runtime itself has to say.
#[derive(Debug)]
pub(crate) enum Signal {
    Wake,
    End(NativeEnd),
    PeerEnded,
}

/// The native handle of an actor: its task.
#[derive(Debug, Clone)]
pub struct Handle {
    pub(crate) signals: mpsc::UnboundedSender<Signal>,
    pub(crate) exit: watch::Receiver<Option<Exit>>,
    pub(crate) task: AbortHandle,
}

impl Handle {
    /// Stops the task after the current message.
    pub fn stop(&self) {
        self.send(Signal::End(NativeEnd::Stop));
    }

    /// Stops the task after all that the actor has accepted.
    pub fn drain(&self) {
        self.send(Signal::End(NativeEnd::Drain));
    }

    /// Drops the task at its next await.
    pub fn kill(&self) {
        self.task.abort();
    }

    /// Links another task: this one is told when it ends. What is returned ends when that has been done.
    pub fn link(&self, peer: JoinHandle<()>) -> JoinHandle<()> {
        let handle = self.clone();
        tokio::spawn(async move {
            let _ = peer.await;
            handle.send(Signal::PeerEnded);
        })
    }

    /// How the task ended, once it has.
    pub async fn exit(&self) -> Exit {
        let mut exit = self.exit.clone();
        match exit.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(exit)) => exit.clone(),
            // The task was dropped and could not say anything any more.
            _ => Exit::Killed,
        }
    }

    fn send(&self, signal: Signal) {
        // Refused when the task has ended.
        let _ = self.signals.send(signal);
    }
}

/// The handle as the cell knows it.
pub(crate) struct Native(pub(crate) Handle);

impl spi::Host for Native {
    fn wake(&self) {
        self.0.send(Signal::Wake);
    }

    fn native(&self) -> &(dyn Any + Send + Sync) {
        &self.0
    }
}

type Signals = mpsc::UnboundedReceiver<Signal>;

/// The task. When it is dropped, its cell goes first and `told` last: whoever awaits the exit finds the actor dead.
pub(crate) async fn live(
    told: watch::Sender<Option<Exit>>,
    mut signals: Signals,
    arrival: oneshot::Receiver<Cell>,
    by_turns: bool,
) {
    let Ok(mut cell) = arrival.await else { return };
    let exit = match by_turns {
        false => resident(&mut cell, &mut signals).await,
        true => turns(&mut cell, &mut signals).await,
    };
    drop(cell);
    told.send_replace(Some(exit));
}

/// The cell's future stays in the task, beside the native signals.
async fn resident(cell: &mut Cell, signals: &mut Signals) -> Exit {
    poll_fn(|cx| {
        while let Poll::Ready(Some(signal)) = signals.poll_recv(cx) {
            obey(signal, cell);
        }
        cell.poll_run(cx)
    })
    .await
}

/// The task sleeps until it is sent something, then runs turns as long as there is more to do.
async fn turns(cell: &mut Cell, signals: &mut Signals) -> Exit {
    let mut more = false;
    loop {
        // Always `Some`: the cell's own host can send.
        if !more && let Some(signal) = signals.recv().await {
            obey(signal, cell);
        }
        while let Ok(signal) = signals.try_recv() {
            obey(signal, cell);
        }
        more = match poll_fn(|cx| cell.poll_turn(cx)).await {
            TurnEnd::Idle => false,
            TurnEnd::More => true,
            TurnEnd::Ended(exit) => return exit,
        };
    }
}

fn obey(signal: Signal, cell: &Cell) {
    match signal {
        Signal::End(how) => cell.end(how),
        // A wake asks only for a turn; the end of a peer is no reason to end.
        Signal::Wake | Signal::PeerEnded => {}
    }
}
