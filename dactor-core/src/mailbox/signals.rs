//! Signals to a cell beside its messages: end requests, and calls for housekeeping.

use super::wakeup::{WakeOn, Wakeup};
use super::{Inner, Item, Mailbox};
use crate::base::sync::atomic::Ordering;
use crate::{End, Priority};

/// How an actor has been asked to end. A stronger request replaces a weaker one, never the reverse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Ending {
    None,
    Drain,
    Stop,
    Kill,
}

impl From<End> for Ending {
    fn from(how: End) -> Self {
        match how {
            End::Drain => Self::Drain,
            End::Stop => Self::Stop,
            End::Kill => Self::Kill,
        }
    }
}

impl Ending {
    fn from_bits(bits: u8) -> Self {
        match bits {
            0 => Self::None,
            1 => Self::Drain,
            2 => Self::Stop,
            _ => Self::Kill,
        }
    }
}

/// The signals that a cell checks between two messages, read at once.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Signals(pub(super) u8);

impl Signals {
    pub(super) const ENDING: u8 = 0b11;
    pub(super) const OVERTAKEN: u8 = 0b100;
    pub(super) const CALLED: u8 = 0b1000;
    pub(super) const MEMBERS: u8 = 0b1_0000;
    pub(super) const LANE: u8 = 0b110_0000;
    pub(super) const JOINS: u8 = 0b1000_0000;
    const HIGH: u8 = 0b010_0000;
    const LOW: u8 = 0b100_0000;

    /// How the actor has been asked to end.
    pub(crate) fn ending(self) -> Ending {
        Ending::from_bits(self.0 & Self::ENDING)
    }

    /// Whether another lane than the normal one has messages, so that the next message is not simply the next
    /// of the batch: see [`Mailbox::pick`].
    pub(crate) fn overtaken(self) -> bool {
        self.0 & Self::OVERTAKEN != 0
    }

    /// The lane of the batch: normal, or for a bounded mailbox that of the single message taken.
    pub(crate) fn lane(self) -> Priority {
        match self.0 & Self::LANE {
            Self::HIGH => Priority::High,
            Self::LOW => Priority::Low,
            _ => Priority::Normal,
        }
    }

    /// The signals of a cell that takes from this lane.
    pub(super) fn of_lane(lane: Priority) -> Self {
        Self(match lane {
            Priority::High => Self::HIGH,
            Priority::Normal => 0,
            Priority::Low => Self::LOW,
        })
    }

    /// Whether a message that joins running reads may be queued.
    pub(super) fn may_join(self) -> bool {
        self.0 & Self::JOINS != 0
    }

    /// Whether the cell has housekeeping to do: a timer is due, or there is a family request.
    pub(crate) fn is_called(self) -> bool {
        self.0 & Self::CALLED != 0
    }
}

impl<T: Item> Mailbox<T> {
    /// The signals that the cell checks between two messages.
    pub(crate) fn signals(&self) -> Signals {
        Signals(self.signals.load(Ordering::Acquire))
    }

    /// How the actor has been asked to end.
    pub(crate) fn ending(&self) -> Ending {
        self.signals().ending()
    }

    /// Sets the bits of `mask` to `bits`. The lock is held.
    pub(super) fn set_signals(&self, mask: u8, bits: u8) {
        self.signals.store(self.signals().0 & !mask | bits, Ordering::Release);
    }

    /// Updates whether the cell's batch has been overtaken. Bounded mailboxes have no batch.
    pub(super) fn update_overtaken(&self, inner: &Inner<T>) {
        let overtaken = inner.has_lanes() && inner.bound.is_none();
        if overtaken != self.signals().overtaken() {
            self.set_signals(Signals::OVERTAKEN, if overtaken { Signals::OVERTAKEN } else { 0 });
        }
    }

    /// Publishes the lane of the message that the cell takes. The lock is held.
    pub(super) fn show_lane(&self, lane: Priority) {
        if lane != self.signals().lane() {
            self.set_signals(Signals::LANE, Signals::of_lane(lane).0);
        }
    }

    /// Asks the actor to end, and closes the mailbox. A request weaker than an earlier one is ignored.
    pub(crate) fn signal(&self, ending: Ending) -> Wakeup {
        let mut inner = self.lock();
        if self.ending() >= ending {
            return Wakeup::None;
        }
        self.set_signals(Signals::ENDING | Signals::MEMBERS, ending as u8);
        (inner.open, inner.members) = (false, false);
        match inner.wakeup(WakeOn::Signals) {
            Wakeup::Native if ending == Ending::Stop => Wakeup::Stop,
            wakeup => wakeup,
        }
    }

    /// Makes the cell run its housekeeping before the next message.
    pub(crate) fn call(&self) -> Wakeup {
        let mut inner = self.lock();
        self.set_signals(Signals::CALLED, Signals::CALLED);
        inner.wakeup(WakeOn::All)
    }

    /// The cell runs its housekeeping. Everything it was called for before is visible from now on.
    pub(crate) fn answer_call(&self) {
        let _inner = self.lock();
        self.set_signals(Signals::CALLED, 0);
    }
}
