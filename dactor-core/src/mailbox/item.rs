use crate::mailbox::slot::AtomicSlot;

/// An item of a mailbox.
pub(crate) trait Item {
    /// Whether it comes from the kernel: a notice needs no room.
    fn is_notice(&self) -> bool;

    /// Whether it comes after everything sent before it, also in other lanes.
    fn comes_last(&self) -> bool {
        false
    }

    /// Whether it joins running reads that others wait behind.
    fn interleaves(&self) -> bool {
        false
    }

    /// Its slot, if an asker may withdraw it.
    fn slot(&self) -> Option<&AtomicSlot> {
        None
    }
}
