//! What an actor is told beside its messages: how it is to end, and that there is something to look at.

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

/// What a cell has to know between two messages, read in one go.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Signals(pub(super) u8);

impl Signals {
    pub(super) const ENDING: u8 = 0b11;
    pub(super) const OVERTAKEN: u8 = 0b100;
    pub(super) const CALLED: u8 = 0b1000;
    pub(super) const MEMBERS: u8 = 0b1_0000;
    pub(super) const LANE: u8 = 0b110_0000;
    const HIGH: u8 = 0b010_0000;
    const LOW: u8 = 0b100_0000;

    /// How the actor has been asked to end.
    pub(crate) fn ending(self) -> Ending {
        Ending::from_bits(self.0 & Self::ENDING)
    }

    /// Whether another lane than the normal one has messages, so that the next one is not simply the next of the
    /// batch: see [`Mailbox::pick`].
    pub(crate) fn overtaken(self) -> bool {
        self.0 & Self::OVERTAKEN != 0
    }

    /// The lane of the batch: of the one message that a cell with a bound takes at a time, else the normal one.
    pub(crate) fn lane(self) -> Priority {
        match self.0 & Self::LANE {
            Self::HIGH => Priority::High,
            Self::LOW => Priority::Low,
            _ => Priority::Normal,
        }
    }

    /// What a cell finds that takes from this lane.
    pub(super) fn of_lane(lane: Priority) -> Self {
        Self(match lane {
            Priority::High => Self::HIGH,
            Priority::Normal => 0,
            Priority::Low => Self::LOW,
        })
    }

    /// Whether there is something else to look at than messages: a timer is due, or the actor's family wants something.
    pub(crate) fn is_called(self) -> bool {
        self.0 & Self::CALLED != 0
    }
}

impl<T: Item> Mailbox<T> {
    /// What the cell has to know between two messages.
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

    /// Tells the cell whether its batch is still all that comes next. A cell with a bound has no batch.
    pub(super) fn update_overtaken(&self, inner: &Inner<T>) {
        let overtaken = inner.has_lanes() && inner.bound.is_none();
        if overtaken != self.signals().overtaken() {
            self.set_signals(Signals::OVERTAKEN, if overtaken { Signals::OVERTAKEN } else { 0 });
        }
    }

    /// Tells the cell the lane of the message that it gets. The lock is held.
    pub(super) fn show_lane(&self, lane: Priority) {
        if lane != self.signals().lane() {
            self.set_signals(Signals::LANE, Signals::of_lane(lane).0);
        }
    }

    /// Asks the actor to end. Accepts nothing from here on; a weaker request than an earlier one is ignored.
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

    /// The cell runs its housekeeping. Whatever it was called for before can be seen from here on.
    pub(crate) fn answer_call(&self) {
        let _inner = self.lock();
        self.set_signals(Signals::CALLED, 0);
    }
}
