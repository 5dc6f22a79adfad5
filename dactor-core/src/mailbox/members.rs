//! A mailbox during the drain of a shutdown: open to the actors of its own system alone.

use super::wakeup::{Phase, WakeOn};
use super::{Ending, Item, Mailbox, Signals, Wakeup};

impl<T: Item> Mailbox<T> {
    /// From here on only [members](crate::base::current::Member) are let in, until the actor is asked to end.
    pub(crate) fn admit_members_only(&self) {
        let mut inner = self.lock();
        if inner.open {
            inner.open = false;
            inner.members = true;
            self.set_signals(Signals::MEMBERS, Signals::MEMBERS);
        }
    }

    /// Whether members are let in, and others are not.
    pub(crate) fn admits_members(&self) -> bool {
        self.signals().0 & Signals::MEMBERS != 0
    }

    /// Accepts the tick of a timer. While it admits members only there are none: an actor with an interval would never have
    /// nothing to do.
    pub(crate) fn notify_of_timer(&self, notice: T) -> Result<Wakeup, T> {
        if self.admits_members() { Err(notice) } else { self.notify(notice) }
    }

    /// How often the cell has been woken, when it has nothing to do now. Two equal numbers say that it did nothing in
    /// between.
    pub(crate) fn idle_wakes(&self) -> Option<u32> {
        let inner = self.lock();
        let parked = matches!(inner.phase, Phase::Idle | Phase::Waiting(_, WakeOn::All));
        (parked && self.ending() == Ending::None).then_some(inner.wakes)
    }
}
