//! The queue of one actor and the protocol by which it is woken.
//!
//! One lock protects all related state: the messages, whether new ones are accepted, how the actor has been
//! asked to end, and whom to wake. So there is no push-then-check race: a refused message is returned whole,
//! and exactly one caller is told to wake the actor.
//!
//! [`push`] adds a message and [`take`] removes it; [`signals`] overtake messages, and [`wakeup`] decides
//! whom to wake.

pub(crate) mod bound;
mod chunks;
pub(crate) mod item;
pub(crate) mod lanes;
mod members;
pub(crate) mod overflow;
mod push;
pub(crate) mod queue;
mod reads;
pub(crate) mod shed;
mod side_queues;
mod signals;
pub(crate) mod slot;
mod take;
mod wakeup;
mod withdraw;

use std::sync::PoisonError;

use self::bound::{Bound, Limit};
use self::chunks::Chunks;
pub(crate) use self::item::Item;
use self::lanes::Lanes;
pub(crate) use self::push::Refusal;
use self::queue::Queue;
use self::side_queues::SideQueues;
pub(crate) use self::signals::{Ending, Signals};
pub(crate) use self::take::{Park, Taken};
use self::wakeup::Phase;
pub(crate) use self::wakeup::Wakeup;
use crate::Priority;
use crate::base::sync::atomic::AtomicU8;
use crate::base::sync::{Mutex, MutexGuard};

#[derive(Debug)]
struct Inner<T> {
    /// The normal lane, or its tail.
    queue: Queue<T>,
    /// The front of the normal lane, once more than a batch waits. Unbounded mailboxes only.
    chunks: Option<Box<Chunks<T>>>,
    /// The other lanes; `None` until the first message.
    lanes: Option<Box<Lanes<T>>>,
    phase: Phase,
    open: bool,
    /// Closed, except to actors of the same system.
    members: bool,
    /// How often the cell was woken.
    wakes: u32,
    /// How many of the queued messages are withdrawn.
    withdrawn: u32,
    bound: Option<Box<Bound<T>>>,
}

impl<T: Item> Inner<T> {
    fn len(&self) -> usize {
        self.lanes_len() + self.side_queues().map_or(0, SideQueues::len)
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty() && ((self.chunks.is_none() && self.lanes.is_none()) || self.len() == 0)
    }

    /// Whether all messages are in the normal lane, not withdrawn, and at most a batch.
    fn is_plain(&self) -> bool {
        self.bound.is_none() && self.lanes.is_none() && self.chunks.is_none() && self.withdrawn == 0
    }

    /// The number of messages in the lanes, without the side queues.
    fn lanes_len(&self) -> usize {
        let chunked = self.chunks.as_ref().map_or(0, |chunks| chunks.len());
        chunked + self.queue.len() + self.lanes.as_ref().map_or(0, |lanes| lanes.len())
    }

    /// Whether a lane other than the normal one has messages.
    fn has_lanes(&self) -> bool {
        self.lanes.as_ref().is_some_and(|lanes| !lanes.is_empty())
    }

    fn lane(&mut self, priority: Priority) -> &mut Queue<T> {
        match &mut self.lanes {
            Some(lanes) => lanes.lane(&mut self.queue, priority),
            None => &mut self.queue,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Mailbox<T> {
    inner: Mutex<Inner<T>>,
    /// The bits of [`Signals`]. Written under the lock, read without it between messages.
    signals: AtomicU8,
}

impl<T: Item> Mailbox<T> {
    /// An open mailbox of a cell that is not in its host yet.
    #[inline]
    pub(crate) fn new(limit: Option<Limit>) -> Self {
        let bound = limit.map(|limit| Box::new(Bound::new(limit)));
        let inner = Inner {
            queue: Queue::new(),
            chunks: None,
            lanes: None,
            phase: Phase::Starting,
            open: true,
            members: false,
            wakes: 0,
            withdrawn: 0,
            bound,
        };
        Self { inner: Mutex::new(inner), signals: AtomicU8::new(Ending::None as u8) }
    }

    /// The mailbox of an actor that lives elsewhere: it refuses every message.
    pub(crate) fn elsewhere() -> Self {
        let mailbox = Self::new(None);
        mailbox.lock().open = false;
        mailbox
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it refuses all messages.
    pub(crate) fn is_closed(&self) -> bool {
        let inner = self.lock();
        !inner.open && !inner.members
    }

    pub(crate) fn is_bounded(&self) -> bool {
        self.lock().bound.is_some()
    }

    /// The number of messages, without withdrawn ones.
    pub(crate) fn len(&self) -> usize {
        self.lock().wanted()
    }
}

#[cfg(test)]
impl Item for u32 {
    fn is_notice(&self) -> bool {
        *self >= 1000
    }

    fn comes_last(&self) -> bool {
        *self >= 2000
    }

    fn interleaves(&self) -> bool {
        (500..600).contains(self)
    }
}

#[cfg(all(test, dactor_loom))]
mod models;
#[cfg(test)]
mod tests;
