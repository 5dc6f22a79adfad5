use crate::mailbox::slot::AtomicSlot;

/// What a mailbox holds.
pub(crate) trait Item {
    /// Whether it comes from the kernel itself: such an item takes no room.
    fn is_notice(&self) -> bool;

    /// Whether it comes behind everything that was sent before it, also in other lanes.
    fn comes_last(&self) -> bool {
        false
    }

    /// Whether it joins running reads that others wait behind.
    fn interleaves(&self) -> bool {
        false
    }

    /// Where it is, if there is an asker who may withdraw it.
    fn slot(&self) -> Option<&AtomicSlot> {
        None
    }
}
