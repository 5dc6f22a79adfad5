use std::future::{pending, poll_fn};
use std::task::Poll;

use dactor_core::spi::{Cell, Exit, NativeEnd, TurnEnd};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::yield_now;

use super::handle::Signal;
use super::{Handle, Style};
use crate::NativeExit;
use crate::mutants::{self, Flaw, TurnWakes};

/// The flaw of a backend, if it has one.
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

/// The native actor: runs the cell, handles native signals and reports its exit.
pub(super) async fn run(
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
        cell.bind(handle.native_handle());
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
        // Dropping the cell would have the same effect.
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

/// Ends the cell and runs it to its end.
async fn end(cell: &mut Cell, how: NativeEnd) -> Exit {
    cell.end(how);
    cell.run().await
}

/// Runs the cell continuously and handles signals whenever it is pending. Returns `None` if the cell is to be
/// dropped.
async fn resident(cell: &mut Cell, signals: &mut UnboundedReceiver<Signal>, flaw: Flaws) -> Option<Exit> {
    loop {
        let next = poll_fn(|cx| match cell.poll_run(cx) {
            Poll::Ready(exit) => Poll::Ready(Err(exit)),
            Poll::Pending if flaw.is(Flaw::EndsWhenIdle) => Poll::Ready(Ok(None)),
            // A wake-up only requests a poll: an outdated one must not delay a stop by a turn.
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
                if let Some(ended) = handle_signal(signal, cell, flaw).await {
                    return ended;
                }
            }
            Ok(None) => return None,
        }
    }
}

/// Runs one turn per wake-up and handles signals between turns. Returns `None` if the cell is to be dropped.
async fn turns(
    cell: &mut Cell,
    signals: &mut UnboundedReceiver<Signal>,
    handle: &Handle,
    flaw: Flaws,
) -> Option<Exit> {
    loop {
        match signals.recv().await {
            Some(Signal::Wake) => {}
            Some(signal) => match handle_signal(signal, cell, flaw).await {
                Some(ended) => return ended,
                None => continue,
            },
            None => pending().await,
        }
        loop {
            let wakes = TurnWakes::default();
            let turn = poll_fn(|cx| {
                wakes.poll(flaw, cx, |cx| mutants::poll_again(flaw, cx, |cx| cell.poll_turn(cx)))
            });
            match turn.await {
                TurnEnd::Ended(exit) => return Some(exit),
                TurnEnd::Idle if flaw.is(Flaw::EndsWhenIdle) => return None,
                TurnEnd::Idle => {
                    handle.turn_ended();
                    break;
                }
                TurnEnd::More if flaw.is(Flaw::IgnoresMore) => break,
                TurnEnd::More => {}
            }
            while let Ok(signal) = signals.try_recv() {
                if let Some(ended) = handle_signal(signal, cell, flaw).await {
                    return ended;
                }
            }
        }
    }
}

/// `Some` if the signal ended the actor: with its exit, or with `None` if the cell is to be dropped.
async fn handle_signal(signal: Signal, cell: &mut Cell, flaw: Flaws) -> Option<Option<Exit>> {
    match signal {
        Signal::Wake => None,
        Signal::Stop if flaw.is(Flaw::IgnoresStop) => None,
        Signal::Stop if flaw.is(Flaw::StopDropsCell) => Some(None),
        Signal::Stop if flaw.is(Flaw::StopDrains) => Some(Some(end(cell, NativeEnd::Drain).await)),
        Signal::Stop => end_cell(cell, NativeEnd::Stop),
        Signal::Drain if flaw.is(Flaw::DrainStops) => Some(Some(end(cell, NativeEnd::Stop).await)),
        Signal::Drain if flaw.is(Flaw::DrainsOneTurn) => {
            let _ = cell.turn().await;
            Some(None)
        }
        Signal::Drain => end_cell(cell, NativeEnd::Drain),
        Signal::PeerDied if flaw.is(Flaw::DiesWithPeer) => Some(None),
        Signal::PeerDied => None,
    }
}

/// Ends the cell, which then requests the turns that it needs.
fn end_cell(cell: &Cell, how: NativeEnd) -> Option<Option<Exit>> {
    cell.end(how);
    None
}
