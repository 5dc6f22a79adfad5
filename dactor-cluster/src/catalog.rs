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

/// The type-erased form of a catalog entry.
pub(crate) trait AnyEntry: Send + Sync {
    /// Ends this activation, if it is still active.
    fn end_instance(&self, instance: u64, how: End, reason: DeactivationReason);
    /// Handles the loss of the node's lease.
    fn lose(&self);
    fn state(&self) -> ActivationState;
    fn cluster(&self) -> &Arc<Inner>;
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

/// The active and activating actors. An entry exists from the first message until its activation has ended.
#[derive(Default)]
pub(crate) struct Catalog {
    entries: DashMap<EntityId, Arc<dyn AnyEntry>>,
    count: AtomicUsize,
}

impl Catalog {
    pub(crate) fn get(&self, id: &EntityId) -> Option<Arc<dyn AnyEntry>> {
        self.entries.get(id).map(|entry| entry.value().clone())
    }

    /// Adds an entry. Returns the existing entry of this id, if any.
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

    /// Removes this entry, but not a newer one of the same id.
    pub(crate) fn remove(&self, id: &EntityId, entry: &Arc<dyn AnyEntry>) {
        if self.entries.remove_if(id, |_, there| is_same(there, entry)).is_some() {
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// All entries, in arbitrary order.
    pub(crate) fn snapshot(&self) -> Vec<Arc<dyn AnyEntry>> {
        self.entries.iter().map(|entry| entry.value().clone()).collect()
    }
}

fn is_same(one: &Arc<dyn AnyEntry>, other: &Arc<dyn AnyEntry>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

/// The activations of one type, ordered by last use.
///
/// The heap is lazy: the time of an item may be outdated. The first item is compared with the actual time,
/// updated and sifted down until it is up to date. So a message costs one store, and the first up-to-date
/// item is the least recently used.
///
/// Items of ended activations are removed in bulk when the heap has doubled.
#[derive(Default)]
pub(crate) struct ByUse(Mutex<Heap>);

#[derive(Default)]
struct Heap {
    items: BinaryHeap<Reverse<Used>>,
    /// The size at which items of ended activations are removed.
    sweep_at: usize,
}

struct Used {
    time: u64,
    core: Weak<ActivationCore>,
}

impl ByUse {
    fn lock(&self) -> MutexGuard<'_, Heap> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, core: &Arc<ActivationCore>) {
        let time = core.last_used.load(Ordering::Relaxed);
        let mut heap = self.lock();
        if heap.items.len() >= heap.sweep_at {
            heap.items.retain(|Reverse(used)| used.core.upgrade().is_some_and(|core| !core.has_ended()));
            heap.sweep_at = 64 + 2 * heap.items.len();
        }
        heap.items.push(Reverse(Used { time, core: Arc::downgrade(core) }));
    }

    /// The last use of the least recently used activation.
    pub(crate) fn oldest(&self) -> Option<u64> {
        let heap = &mut self.lock().items;
        Self::settle(heap)?;
        heap.peek().map(|Reverse(used)| used.time)
    }

    /// Removes the least recently used activation, unless it was used after `before`.
    pub(crate) fn take_oldest(&self, before: u64) -> Option<Arc<ActivationCore>> {
        let heap = &mut self.lock().items;
        let core = Self::settle(heap)?;
        if heap.peek().is_some_and(|Reverse(used)| used.time > before) {
            return None;
        }
        heap.pop();
        Some(core)
    }

    /// Updates the first item until it has the actual time.
    fn settle(heap: &mut BinaryHeap<Reverse<Used>>) -> Option<Arc<ActivationCore>> {
        loop {
            let mut first = heap.peek_mut()?;
            let Reverse(used) = &mut *first;
            let Some(core) = used.core.upgrade().filter(|core| !core.has_ended()) else {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dactor_engine::{Engine, Generation, ManualClock, Memory, NodeId};

    use super::*;
    use crate::lease::Epoch;

    /// An activation last used at this time.
    fn used_at(time: u64) -> Arc<ActivationCore> {
        let clock = Arc::new(ManualClock::new());
        clock.advance(Duration::from_nanos(time));
        let epoch = Arc::new(Epoch::new(NodeId::start("a"), clock, Duration::MAX));
        let id = EntityId::new("n", "T", &time.to_string()).unwrap();
        let entry: Weak<dyn AnyEntry> = Weak::<NoEntry>::new();
        let runtime = tokio::runtime::Handle::current();
        let name = (id, Generation::new(1).unwrap(), 1);
        Arc::new(ActivationCore::new(name, epoch, &Engine::from(Memory::new()), runtime, entry))
    }

    /// Not zero-sized: entries are compared by address.
    struct NoEntry(#[allow(dead_code)] u8);

    impl AnyEntry for NoEntry {
        fn end_instance(&self, _: u64, _: End, _: DeactivationReason) {}

        fn lose(&self) {}

        fn state(&self) -> ActivationState {
            ActivationState::Invalid
        }

        fn cluster(&self) -> &Arc<Inner> {
            unreachable!("it is in no cluster")
        }

        fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
            self
        }
    }

    #[tokio::test]
    async fn the_least_recently_used_comes_first() {
        let by_use = ByUse::default();
        let [a, b, c] = [30, 10, 20].map(used_at);
        [&a, &b, &c].into_iter().for_each(|core| by_use.add(core));
        assert_eq!(by_use.oldest(), Some(10));
        // Used again; the heap is outdated.
        b.last_used.store(25, Ordering::Relaxed);
        assert_eq!(by_use.oldest(), Some(20));
        assert!(by_use.take_oldest(19).is_none(), "it was used since");
        assert!(Arc::ptr_eq(&by_use.take_oldest(20).unwrap(), &c));
        // A strong reference still exists.
        b.set_ended();
        assert_eq!(by_use.oldest(), Some(30), "what has ended does not count");
        drop(b);
        assert!(Arc::ptr_eq(&by_use.take_oldest(u64::MAX).unwrap(), &a));
        assert!(by_use.oldest().is_none() && by_use.take_oldest(u64::MAX).is_none());
    }

    #[tokio::test]
    async fn what_has_ended_does_not_pile_up() {
        let by_use = ByUse::default();
        let kept: Vec<_> = (0..100).map(used_at).collect();
        kept.iter().for_each(|core| by_use.add(core));
        (100..5000).for_each(|time| by_use.add(&used_at(time)));
        let count = by_use.lock().items.len();
        assert!((100..=64 + 2 * 100).contains(&count), "{count} items");
        assert_eq!(by_use.oldest(), Some(0));
    }

    #[test]
    fn exactly_the_entry_that_is_there_is_removed() {
        let (catalog, id) = (Catalog::default(), EntityId::new("n", "T", "k").unwrap());
        let [one, other]: [Arc<dyn AnyEntry>; 2] = [Arc::new(NoEntry(1)), Arc::new(NoEntry(2))];
        assert!(catalog.insert(&id, one.clone()).is_ok() && catalog.insert(&id, one.clone()).is_ok());
        assert!(is_same(&catalog.insert(&id, other.clone()).unwrap_err(), &one));
        assert_eq!((catalog.len(), catalog.snapshot().len()), (1, 1));
        catalog.remove(&id, &other);
        assert_eq!(catalog.len(), 1);
        assert!(is_same(&catalog.get(&id).unwrap(), &one));
        catalog.remove(&id, &one);
        catalog.remove(&id, &one);
        assert!(catalog.len() == 0 && catalog.get(&id).is_none());
    }
}
