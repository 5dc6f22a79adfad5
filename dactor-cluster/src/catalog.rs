//! The activations of a node.

use std::any::Any;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use dactor_core::End;
use dactor_engine::EntityId;
use dashmap::DashMap;
use dashmap::mapref::entry::Entry as MapEntry;

use crate::cluster::Inner;
use crate::lifecycle::ActivationCore;
use crate::{ActivationState, DeactivationReason};

/// An entry of the catalog, for an actor of any type.
pub(crate) trait AnyEntry: Send + Sync {
    /// Asks this activation to end, if it is still the one that is active.
    fn end_instance(&self, instance: u64, how: End, reason: DeactivationReason);
    /// The node has lost its lease.
    fn lose(&self);
    fn state(&self) -> ActivationState;
    fn cluster(&self) -> &Arc<Inner>;
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

/// The actors that are active or about to be. An entry is here from the first message until its activation has ended.
#[derive(Default)]
pub(crate) struct Catalog {
    entries: DashMap<EntityId, Arc<dyn AnyEntry>>,
    count: AtomicUsize,
}

impl Catalog {
    pub(crate) fn get(&self, id: &EntityId) -> Option<Arc<dyn AnyEntry>> {
        self.entries.get(id).map(|entry| entry.value().clone())
    }

    /// Adds an entry. Another entry of this id that is there comes back.
    pub(crate) fn insert(&self, id: &EntityId, entry: Arc<dyn AnyEntry>) -> Result<(), Arc<dyn AnyEntry>> {
        match self.entries.entry(id.clone()) {
            MapEntry::Occupied(there) if is_same(there.get(), &entry) => Ok(()),
            MapEntry::Occupied(there) => Err(there.get().clone()),
            MapEntry::Vacant(free) => {
                free.insert(entry);
                self.count.fetch_add(1, Ordering::AcqRel);
                Ok(())
            }
        }
    }

    /// Removes exactly this entry.
    pub(crate) fn remove(&self, id: &EntityId, entry: &Arc<dyn AnyEntry>) {
        if self.entries.remove_if(id, |_, there| is_same(there, entry)).is_some() {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// All entries, in no order.
    pub(crate) fn snapshot(&self) -> Vec<Arc<dyn AnyEntry>> {
        self.entries.iter().map(|entry| entry.value().clone()).collect()
    }
}

fn is_same(one: &Arc<dyn AnyEntry>, other: &Arc<dyn AnyEntry>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

/// The activations of one type by the time of their last use.
///
/// The heap is lazy: the time of an item may be too early. Before an item counts, it is compared with the true time and
/// put back. So a message costs a store, and the first item that is up to date is the least recently used.
#[derive(Default)]
pub(crate) struct ByUse(Mutex<BinaryHeap<Reverse<Used>>>);

struct Used {
    time: u64,
    core: Weak<ActivationCore>,
}

impl ByUse {
    fn lock(&self) -> MutexGuard<'_, BinaryHeap<Reverse<Used>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, core: &Arc<ActivationCore>) {
        let time = core.last_used.load(Ordering::Relaxed);
        self.lock().push(Reverse(Used { time, core: Arc::downgrade(core) }));
    }

    /// When the least recently used one was used.
    pub(crate) fn oldest(&self) -> Option<u64> {
        let mut heap = self.lock();
        Self::settle(&mut heap)?;
        heap.peek().map(|Reverse(used)| used.time)
    }

    /// Takes the least recently used one out, if it was not used since `before`.
    pub(crate) fn take_oldest(&self, before: u64) -> Option<Arc<ActivationCore>> {
        let mut heap = self.lock();
        let core = Self::settle(&mut heap)?;
        if heap.peek().is_some_and(|Reverse(used)| used.time > before) {
            return None;
        }
        heap.pop();
        Some(core)
    }

    /// Brings the first item up to date.
    fn settle(heap: &mut BinaryHeap<Reverse<Used>>) -> Option<Arc<ActivationCore>> {
        loop {
            let mut first = heap.peek_mut()?;
            let Reverse(used) = &mut *first;
            let Some(core) = used.core.upgrade() else {
                std::collections::binary_heap::PeekMut::pop(first);
                continue;
            };
            let time = core.last_used.load(Ordering::Relaxed);
            if time == used.time {
                return Some(core);
            }
            used.time = time;
        }
    }
}

impl PartialEq for Used {
    fn eq(&self, other: &Self) -> bool {
        self.time == other.time
    }
}

impl Eq for Used {}

impl PartialOrd for Used {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Used {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.time.cmp(&other.time)
    }
}
