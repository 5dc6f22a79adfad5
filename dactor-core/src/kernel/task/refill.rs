//! How a cell waits for messages.

use std::future::Future;
use std::mem;
use std::pin::{Pin, pin};
use std::task::{Context as TaskContext, Poll};

use crate::Actor;
use crate::delivery::envelope::Envelope;
use crate::kernel::actor_core::ActorCore;
use crate::kernel::linger::Linger;
use crate::kernel::turn::{Mode, Progress};
use crate::mailbox::queue::Queue;
use crate::mailbox::{Ending, Park, Taken};

/// Fills the batch, waiting for messages. `false` when the actor is draining and the mailbox is empty.
///
/// Resets `since_native` when the cell goes back to its runtime.
#[inline(always)]
pub(super) fn refill<'a, A: Actor>(
    core: &'a ActorCore<A>,
    batch: &'a mut Queue<Envelope<A>>,
    linger: &'a mut Linger,
    since_native: &'a mut usize,
) -> Refill<'a, A> {
    // A turn without messages has no conversation to linger for.
    let may_linger = *since_native > 0 && linger.is_due();
    let wait = Wait { linger, since_native, may_linger, is_lingering: false, woken_in_vain: false };
    Refill { core, batch, wait }
}

/// The future of [`refill`].
pub(super) struct Refill<'a, A: Actor> {
    core: &'a ActorCore<A>,
    batch: &'a mut Queue<Envelope<A>>,
    wait: Wait<'a>,
}

impl<A: Actor> Future for Refill<'_, A> {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<bool> {
        let Self { core, batch, wait } = &mut *self;
        wait.poll(core, batch, cx)
    }
}

/// What an idle cell does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Idling {
    /// Ends its turn: the next message asks the backend for another.
    EndTurn,
    /// Stays pending until its worker thread is idle.
    Linger,
    /// Stays pending until it is woken.
    Wait,
}

/// A cell that is run by turns returns to its runtime when idle, because the runtime checks its own signals
/// only between turns. Until the native handle is given out there are no such signals, and the cell stays
/// pending instead: waking a future is cheaper than a native message. Afterwards, the cell may still linger
/// first, see [`Linger`]. A spurious wake-up did not come from the mailbox, but perhaps from the runtime.
fn idling(mode: Mode, is_exposed: bool, may_linger: bool, woken_in_vain: bool) -> Idling {
    match (mode, is_exposed) {
        (Mode::Resident, _) => Idling::Wait,
        (Mode::Turns, _) if woken_in_vain => Idling::EndTurn,
        (Mode::Turns, false) => Idling::Wait,
        (Mode::Turns, true) if may_linger => Idling::Linger,
        (Mode::Turns, true) => Idling::EndTurn,
    }
}

/// A cell that waits for messages.
struct Wait<'a> {
    linger: &'a mut Linger,
    since_native: &'a mut usize,
    may_linger: bool,
    is_lingering: bool,
    /// Polled, but the mailbox was empty.
    woken_in_vain: bool,
}

impl Wait<'_> {
    #[inline]
    fn poll<A: Actor>(
        &mut self,
        core: &ActorCore<A>,
        batch: &mut Queue<Envelope<A>>,
        cx: &mut TaskContext<'_>,
    ) -> Poll<bool> {
        loop {
            let is_exposed = core.meta.is_exposed();
            let mode = core.meta.poll_state().mode();
            let idling = idling(mode, is_exposed, self.may_linger, self.woken_in_vain);
            let park = match idling {
                Idling::EndTurn => Park::Native,
                Idling::Linger | Idling::Wait => Park::Pending(cx.waker()),
            };
            match core.mailbox.take(batch, park) {
                Taken::Some => {
                    if self.is_lingering {
                        self.linger.paid();
                    }
                    return Poll::Ready(true);
                }
                // A stronger request may have come meanwhile: the message loop checks again.
                Taken::Called => return Poll::Ready(true),
                Taken::Ending => return Poll::Ready(core.mailbox.ending() != Ending::Drain),
                // The handle was given out while the cell was parking.
                Taken::Parked if idling == Idling::Wait && !is_exposed && core.meta.is_exposed() => {}
                Taken::Parked => {
                    self.parked(idling, core, cx);
                    return Poll::Pending;
                }
            }
        }
    }

    /// The cell is idle.
    fn parked<A: Actor>(&mut self, idling: Idling, core: &ActorCore<A>, cx: &mut TaskContext<'_>) {
        if core.mailbox.admits_members() {
            // A shutdown waits until all actors are idle.
            core.meta.system().shutdown_state().notify_changed();
        }
        match idling {
            Idling::EndTurn => {
                if mem::take(&mut self.is_lingering) {
                    self.linger.was_in_vain();
                }
                *self.since_native = 0;
                core.meta.poll_state().report(Progress::Parked);
            }
            Idling::Linger => {
                self.may_linger = false;
                self.is_lingering = true;
                // Wakes this task when its worker is about to park, not before.
                let _ = pin!(tokio::task::yield_now()).poll(cx);
            }
            Idling::Wait => self.woken_in_vain = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cell_with_nothing_to_do_does() {
        use Idling::{EndTurn, Linger, Wait};
        use Mode::{Resident, Turns};
        for (mode, is_exposed, may_linger, woken_in_vain, expected) in [
            (Turns, false, false, false, Wait),
            (Turns, false, true, false, Wait),
            (Turns, true, true, false, Linger),
            (Turns, true, false, false, EndTurn),
            (Turns, false, false, true, EndTurn),
            (Turns, false, true, true, EndTurn),
            (Turns, true, true, true, EndTurn),
            (Turns, true, false, true, EndTurn),
            (Resident, false, false, false, Wait),
            (Resident, false, true, false, Wait),
            (Resident, true, true, false, Wait),
            (Resident, true, false, true, Wait),
        ] {
            let found = idling(mode, is_exposed, may_linger, woken_in_vain);
            let case = (mode, is_exposed, may_linger, woken_in_vain);
            assert_eq!(found, expected, "(mode, is_exposed, may_linger, woken_in_vain) = {case:?}");
        }
    }
}
