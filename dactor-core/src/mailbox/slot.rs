//! The slot of an ask's message, through which an asker that gives up withdraws it.

use crate::base::sync::atomic::{AtomicU8, Ordering};

/// Where a message is, within the mailbox that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Slot {
    /// In a lane.
    Queued,
    /// In line for room.
    InLine,
    /// In the stash.
    Held,
    /// Back from the stash, in front of its lane.
    Returned,
    /// Taken by the actor, or refused: in no mailbox.
    Taken,
    /// Withdrawn by its asker, but not removed from the mailbox yet.
    Withdrawn,
}

/// The slot of one ask.
///
/// Written under the lock of the mailbox that holds the message. Leaving `Taken` also requires the lock of
/// the reply, so an asker that reads `Taken` under that lock need not check any mailbox.
#[derive(Debug)]
pub struct AtomicSlot(AtomicU8);

impl AtomicSlot {
    pub(crate) fn new() -> Self {
        Self(AtomicU8::new(Slot::Queued as u8))
    }

    pub(crate) fn get(&self) -> Slot {
        match self.0.load(Ordering::Relaxed) {
            0 => Slot::Queued,
            1 => Slot::InLine,
            2 => Slot::Held,
            3 => Slot::Returned,
            4 => Slot::Taken,
            _ => Slot::Withdrawn,
        }
    }

    pub(crate) fn set(&self, slot: Slot) {
        self.0.store(slot as u8, Ordering::Relaxed);
    }

    /// Withdraws the message from its mailbox, and returns where it was.
    pub(crate) fn withdraw(&self) -> Option<Slot> {
        let slot = self.get();
        if matches!(slot, Slot::Taken | Slot::Withdrawn) {
            return None;
        }
        self.set(Slot::Withdrawn);
        Some(slot)
    }
}
