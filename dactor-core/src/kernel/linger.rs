//! Lingering: whether a cell that is run by turns waits a little before it ends its turn.
//!
//! Ending a turn, and being woken for the next one, goes through the native mailbox. A lingering cell stays
//! pending until its worker has nothing else to do, so the next message of a conversation only wakes a
//! future. Without a conversation, lingering costs a poll, so it backs off until it pays again.

/// At most this many consecutive turns end without lingering.
const MOST_SKIPPED: u8 = 31;

#[derive(Debug, Default)]
pub(crate) struct Linger {
    skip: u8,
    next: u8,
}

impl Linger {
    /// Whether this turn should wait.
    pub(crate) fn is_due(&mut self) -> bool {
        let due = self.skip == 0;
        self.skip = self.skip.saturating_sub(1);
        due
    }

    /// A message came while lingering.
    pub(crate) fn paid(&mut self) {
        self.next = 0;
    }

    /// No message came.
    pub(crate) fn was_in_vain(&mut self) {
        self.next = (self.next * 2 + 1).min(MOST_SKIPPED);
        self.skip = self.next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_vain_it_is_done_less_and_less_until_it_pays() {
        let mut linger = Linger::default();
        let skipped_before_due = |linger: &mut Linger| (0..).take_while(|_| !linger.is_due()).count();
        for expected in [0, 1, 3, 7, 15, 31, 31] {
            assert_eq!(skipped_before_due(&mut linger), expected);
            linger.was_in_vain();
        }
        assert_eq!(skipped_before_due(&mut linger), 31);
        linger.paid();
        assert_eq!(skipped_before_due(&mut linger), 0);
        linger.was_in_vain();
        assert_eq!(skipped_before_due(&mut linger), 1);
    }
}
