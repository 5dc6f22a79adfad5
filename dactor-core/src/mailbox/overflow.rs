//! The overflow policy of a bounded mailbox.

use std::time::Duration;

use super::bound::Bound;
use super::push::Refusal;
use super::wakeup::{WakeOn, Wakeup};
use super::withdraw::{is_withdrawn, mark_taken};
use super::{Inner, Item};
use crate::Priority;

/// The overflow policy: what happens to a message when a bounded mailbox is full.
///
/// | | `tell` | `try_tell` | `send().await` | `ask` |
/// | --- | --- | --- | --- | --- |
/// | `Reject` | fails | fails, returns the message | fails | fails |
/// | `Block` | fails | fails, returns the message | waits in line (backpressure) | waits in line, within its timeout |
/// | `DropNewest` | dead letter | dead letter | dead letter | fails, dead letter |
/// | `DropOldest` | accepted; the oldest is a dead letter | the same | the same | the same; a dropped ask fails |
///
/// "Fails" means [`MailboxFull`](crate::ErrorKind::MailboxFull). With [priorities](Priority), the oldest is
/// the oldest of the lowest lane, and the newest is the new message, whatever its priority. Stop, drain and
/// kill are not messages and always get through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Overflow {
    /// The sender gets an error.
    Reject,
    /// Backpressure: the sender waits for room if it can, and gets an error otherwise.
    Block,
    /// The new message becomes a dead letter.
    DropNewest,
    /// The oldest message becomes a dead letter and makes room.
    DropOldest,
}

impl<T: Item> Inner<T> {
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.bound.as_ref().is_some_and(|bound| {
            // A bounded mailbox has no chunks.
            let others = self.lanes.as_ref().map_or(0, |lanes| lanes.len());
            self.queue.len() + others - self.withdrawn as usize - bound.notices >= bound.limit.capacity
        })
    }

    pub(super) fn overload(&self) -> Option<Duration> {
        self.bound.as_ref().and_then(|bound| bound.overload(self.withdrawn as usize))
    }

    /// Whether senders wait for room.
    pub(super) fn admits_waiters(&self) -> bool {
        let blocks = |bound: &Bound<T>| bound.limit.overflow == Overflow::Block;
        self.is_open()
            && self.is_full()
            && self.bound.as_deref().is_some_and(blocks)
            && self.overload().is_none()
    }

    /// Applies the overflow policy to a message that finds the mailbox full.
    pub(super) fn overflow(&mut self, message: T, priority: Priority) -> Refusal<T> {
        let overflow = self.bound.as_ref().map(|bound| bound.limit.overflow);
        match overflow {
            Some(Overflow::DropNewest) => Refusal::Dropped(message, Wakeup::None),
            Some(Overflow::DropOldest) => {
                self.put(message, priority);
                let evicted = self.evict();
                self.release_due();
                match evicted {
                    Some(oldest) => Refusal::Dropped(oldest, self.wakeup(WakeOn::All)),
                    None => unreachable!("a full queue is not empty"),
                }
            }
            Some(Overflow::Reject | Overflow::Block) | None => Refusal::Full(message),
        }
    }

    /// Removes the oldest message of the lowest lane. Notices stay.
    pub(super) fn evict(&mut self) -> Option<T> {
        let notices = self.bound.as_ref().map_or(0, |bound| bound.notices);
        let normal = self.queue.len() > notices;
        let lowest = self.lanes.as_ref().and_then(|lanes| lanes.lowest(normal)).unwrap_or_default();
        let lane = self.lane(lowest);
        let at = lane.iter().position(|message| !message.is_notice() && !is_withdrawn(message))?;
        let oldest = lane.remove(at)?;
        mark_taken(&oldest);
        if let Some(side_queues) = self.side_queues_mut() {
            side_queues.note_removed(lowest, at);
        }
        if let Some(bound) = &mut self.bound {
            bound.pop(&oldest, lowest);
        }
        Some(oldest)
    }
}
