//! A mailbox during the drain of a shutdown: open only to actors of its own system.

use super::wakeup::{Phase, WakeOn};
use super::{Ending, Item, Mailbox, Signals, Wakeup};

impl<T: Item> Mailbox<T> {
    /// From now on admits only [members](crate::base::current::Member), until the actor is asked to end.
    pub(crate) fn admit_members_only(&self) {
        let mut inner = self.lock();
        if inner.open {
            inner.open = false;
            inner.members = true;
            self.set_signals(Signals::MEMBERS, Signals::MEMBERS);
        }
    }

    /// Whether only members are admitted.
    pub(crate) fn admits_members(&self) -> bool {
        self.signals().0 & Signals::MEMBERS != 0
    }

    /// Accepts the tick of a timer. Refused while only members are admitted: an actor with an interval would
    /// never become idle.
    pub(crate) fn notify_of_timer(&self, notice: T) -> Result<Wakeup, T> {
        if self.admits_members() { Err(notice) } else { self.notify(notice) }
    }

    /// How often the cell has been woken, if it is idle now. Two equal numbers mean that it did nothing in
    /// between.
    pub(crate) fn idle_wakes(&self) -> Option<u32> {
        let inner = self.lock();
        let parked = matches!(inner.phase, Phase::Idle | Phase::Waiting(_, WakeOn::All));
        (parked && self.ending() == Ending::None).then_some(inner.wakes)
    }
}
