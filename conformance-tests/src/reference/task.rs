use std::future::{pending, poll_fn};
use std::task::Poll;

use dactor_core::spi::{Cell, Exit, NativeEnd, TurnEnd};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::yield_now;

use super::handle::Signal;
use super::{Handle, Style};
use crate::NativeExit;
use crate::mutants::{self, Flaw};

/// What is wrong with a backend: nothing, in the reference.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flaws(Option<Flaw>);

impl Flaws {
    pub(crate) fn none() -> Self {
        Self(None)
    }

    pub(crate) fn one(flaw: Flaw) -> Self {
        Self(Some(flaw))
    }

    pub(crate) fn is(self, flaw: Flaw) -> bool {
        self.0 == Some(flaw)
    }
}

/// The native actor: runs the cell, listens to native signals, and says how it ended.
pub(super) async fn live(
    mut cell: Cell,
    mut signals: UnboundedReceiver<Signal>,
    handle: Handle,
    style: Style,
    flaw: Flaws,
) {
    if flaw.is(Flaw::RunsNothing) {
        return mutants::forget(cell);
    }
    if flaw.is(Flaw::DropsCell) {
        return;
    }
    if flaw.is(Flaw::BindsLate) {
        let _ = cell.turn().await;
        for _ in 0..4 {
            yield_now().await;
        }
        cell.bind(handle.host());
    }
    let run = async {
        match style {
            Style::Resident => resident(&mut cell, &mut signals, flaw).await,
            Style::Turns => turns(&mut cell, &mut signals, &handle, flaw).await,
        }
    };
    let exit = tokio::select! {
        biased;
        () = handle.killed(), if !flaw.is(Flaw::IgnoresKill) => None,
        exit = run => exit,
    };
    let exit = match exit {
        Some(exit) => exit,
        None if flaw.is(Flaw::KillRunsHooks) => end(&mut cell, NativeEnd::Stop).await,
        None if flaw.is(Flaw::KeepsCellAfterKill) => {
            mutants::forget(cell);
            return handle.ended(NativeExit::Killed);
        }
        // Dropping the cell would do, too.
        None if style == Style::Resident => end(&mut cell, NativeEnd::Kill).await,
        None => Exit::Killed,
    };
    drop(cell);
    if flaw.is(Flaw::OutlivesCell) {
        pending::<()>().await;
    }
    handle.ended(match exit {
        Exit::Normal => NativeExit::Normal,
        Exit::Killed if flaw.is(Flaw::KillLooksNormal) => NativeExit::Normal,
        Exit::Killed => NativeExit::Killed,
        Exit::Failed(_) if flaw.is(Flaw::FailureLooksNormal) => NativeExit::Normal,
        Exit::Failed(error) => NativeExit::Failed(format!("{error:#}")),
    });
}

/// Says that the native actor ends, and runs the cell to its end.
async fn end(cell: &mut Cell, how: NativeEnd) -> Exit {
    cell.end(how);
    cell.run().await
}

/// The cell's future lives here; signals are seen whenever it is pending. `None` when the cell is to be dropped.
async fn resident(cell: &mut Cell, signals: &mut UnboundedReceiver<Signal>, flaw: Flaws) -> Option<Exit> {
    loop {
        let next = poll_fn(|cx| match cell.poll_run(cx) {
            Poll::Ready(exit) => Poll::Ready(Err(exit)),
            Poll::Pending if flaw.is(Flaw::EndsWhenIdle) => Poll::Ready(Ok(None)),
            // Polling the cell is what a wake asks for: one that is old must not cost a stop a turn.
            Poll::Pending => loop {
                match signals.poll_recv(cx) {
                    Poll::Ready(Some(Signal::Wake)) => {}
                    signal => return signal.map(Ok),
                }
            },
        });
        match next.await {
            Err(exit) => return Some(exit),
            Ok(Some(signal)) => {
                if let Some(ended) = obey(signal, cell, flaw).await {
                    return ended;
                }
            }
            Ok(None) => return None,
        }
    }
}

/// A turn for every wake; signals are seen between turns.
async fn turns(
    cell: &mut Cell,
    signals: &mut UnboundedReceiver<Signal>,
    handle: &Handle,
    flaw: Flaws,
) -> Option<Exit> {
    loop {
        match signals.recv().await {
            Some(Signal::Wake) => {}
            Some(signal) => match obey(signal, cell, flaw).await {
                Some(ended) => return ended,
                None => continue,
            },
            None => pending().await,
        }
        loop {
            match poll_fn(|cx| mutants::poll_again(flaw, cx, |cx| cell.poll_turn(cx))).await {
                TurnEnd::Ended(exit) => return Some(exit),
                TurnEnd::Idle if flaw.is(Flaw::EndsWhenIdle) => return None,
                TurnEnd::Idle => {
                    handle.turned();
                    break;
                }
                TurnEnd::More if flaw.is(Flaw::IgnoresMore) => break,
                TurnEnd::More => {}
            }
            while let Ok(signal) = signals.try_recv() {
                if let Some(ended) = obey(signal, cell, flaw).await {
                    return ended;
                }
            }
        }
    }
}

/// `Some` when the signal ended the actor: with its exit, or with nothing when the cell is to be dropped.
async fn obey(signal: Signal, cell: &mut Cell, flaw: Flaws) -> Option<Option<Exit>> {
    match signal {
        Signal::Wake => None,
        Signal::Stop if flaw.is(Flaw::IgnoresStop) => None,
        Signal::Stop if flaw.is(Flaw::StopDropsCell) => Some(None),
        Signal::Stop if flaw.is(Flaw::StopDrains) => Some(Some(end(cell, NativeEnd::Drain).await)),
        Signal::Stop => go_on(cell, NativeEnd::Stop),
        Signal::Drain if flaw.is(Flaw::DrainStops) => Some(Some(end(cell, NativeEnd::Stop).await)),
        Signal::Drain if flaw.is(Flaw::DrainsOneTurn) => {
            let _ = cell.turn().await;
            Some(None)
        }
        Signal::Drain => go_on(cell, NativeEnd::Drain),
        Signal::PeerDied if flaw.is(Flaw::DiesWithPeer) => Some(None),
        Signal::PeerDied => None,
    }
}

/// The cell asks for the runs that it needs to end.
fn go_on(cell: &Cell, how: NativeEnd) -> Option<Option<Exit>> {
    cell.end(how);
    None
}
