//! Actors that live elsewhere: what the refs to one share.
//!
//! A far actor has an [`ActorCore`](super::ActorCore) like any other, whose mailbox is closed from the start. A message is refused
//! by it, and only then does the core look for a route: a message to a local actor never does.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use smallvec::SmallVec;

use super::DynActor;
use super::route::FarRoute;
use crate::kernel::backend::NativeHandle;
use crate::path::{ActorPathParts, ActorUid};
use crate::{Actor, ActorPath, Result};

/// Where a far actor is, and the route there. It takes the place of the native handle, which a far actor has none of: so
/// local actors have no field for it.
pub(crate) struct FarPlace {
    path: ActorPath,
    address: ActorPathParts,
    uid: ActorUid,
    /// An `Arc<dyn FarRoute<A>>`.
    route: Box<dyn Any + Send + Sync>,
    /// How many watchers and waiters want to know of its end.
    observers: Mutex<usize>,
}

impl FarPlace {
    pub(crate) fn new<A: Actor>(path: ActorPath, route: Arc<dyn FarRoute<A>>) -> Self {
        Self {
            address: path.parts(),
            uid: path.uid().unwrap_or(ActorUid::ANY),
            path,
            route: Box::new(route),
            observers: Mutex::new(0),
        }
    }

    pub(crate) fn path(&self) -> &ActorPath {
        &self.path
    }

    pub(crate) fn address(&self) -> &ActorPathParts {
        &self.address
    }

    pub(crate) fn uid(&self) -> ActorUid {
        self.uid
    }

    pub(crate) fn route<A: Actor>(&self) -> Option<&Arc<dyn FarRoute<A>>> {
        self.route.downcast_ref()
    }

    /// One more wants to know of its end.
    pub(crate) fn observe<A: Actor>(&self) -> Result<()> {
        let mut observers = lock(&self.observers);
        if *observers == 0
            && let Some(route) = self.route::<A>()
        {
            route.watch()?;
        }
        *observers += 1;
        Ok(())
    }

    /// One of them stops observing.
    pub(crate) fn unobserve<A: Actor>(&self) {
        let mut observers = lock(&self.observers);
        *observers = observers.saturating_sub(1);
        if *observers == 0
            && let Some(route) = self.route::<A>()
        {
            route.unwatch();
        }
    }
}

impl NativeHandle for FarPlace {
    fn native(&self) -> &(dyn Any + Send + Sync) {
        self
    }
}

/// The far actors that a system has refs to: one core for each, however often its path is decoded. So a watch through one
/// ref is known to the others.
#[derive(Default)]
pub(crate) struct FarTable {
    known: Mutex<Known>,
    #[cfg(all(feature = "testkit", feature = "wire"))]
    on_spawn: Mutex<Vec<OnSpawn>>,
}

/// Gives another core for the refs to an actor that was spawned, if it is one of its own.
#[cfg(all(feature = "testkit", feature = "wire"))]
pub(crate) type OnSpawn = Box<dyn Fn(&Arc<dyn DynActor>) -> Option<Arc<dyn DynActor>> + Send + Sync>;

#[derive(Default)]
struct Known {
    actors: HashMap<Key, OfTypes>,
    /// The size at which dead entries are removed.
    sweep_at: usize,
}

/// A path, which is compared without its UID, and the UID.
#[derive(PartialEq, Eq, Hash)]
struct Key(ActorPath, Option<ActorUid>);

impl Key {
    fn of(path: &ActorPath) -> Self {
        Self(path.clone(), path.uid())
    }
}

/// The cores of one actor, by the type that a ref has: most often one.
type OfTypes = SmallVec<[(TypeId, Weak<dyn DynActor>); 1]>;

impl FarTable {
    /// The one core of a far actor, for refs of this type. `make` must not make refs.
    pub(crate) fn intern<A: Actor>(
        &self,
        path: &ActorPath,
        make: impl FnOnce() -> Arc<dyn DynActor>,
    ) -> Arc<dyn DynActor> {
        let mut known = lock(&self.known);
        if known.actors.len() >= known.sweep_at {
            known.actors.retain(|_, cores| cores.iter().any(|(_, core)| core.strong_count() > 0));
            known.sweep_at = 64 + 2 * known.actors.len();
        }
        let cores = known.actors.entry(Key::of(path)).or_default();
        let same = cores.iter().find(|(of, _)| *of == TypeId::of::<A>());
        if let Some(core) = same.and_then(|(_, core)| core.upgrade()) {
            return core;
        }
        let core = make();
        cores.retain(|(of, core)| *of != TypeId::of::<A>() && core.strong_count() > 0);
        cores.push((TypeId::of::<A>(), Arc::downgrade(&core)));
        core
    }

    /// The paths of the far actors at this address that there are refs to.
    pub(crate) fn paths(&self, address: &ActorPathParts) -> Vec<ActorPath> {
        let known = lock(&self.known);
        let there = known.actors.iter().filter(|(key, cores)| {
            key.0.is_in(address) && cores.iter().any(|(_, core)| core.strong_count() > 0)
        });
        let mut paths: Vec<_> = there
            .map(|(Key(path, uid), _)| match uid {
                Some(uid) => path.clone().with_uid(*uid),
                None => path.clone(),
            })
            .collect();
        paths.sort_unstable_by_key(ActorPath::to_serialization_format);
        paths
    }

    /// The cores of a far actor, for refs of whatever type.
    pub(crate) fn find(&self, path: &ActorPath) -> Vec<Arc<dyn DynActor>> {
        let known = lock(&self.known);
        let cores = known.actors.get(&Key::of(path));
        cores.into_iter().flatten().filter_map(|(_, core)| core.upgrade()).collect()
    }

    /// Lets refs to actors that are spawned lead elsewhere.
    #[cfg(all(feature = "testkit", feature = "wire"))]
    pub(crate) fn on_spawn(&self, on_spawn: OnSpawn) {
        lock(&self.on_spawn).push(on_spawn);
    }

    /// The core for the refs that a spawn gives.
    #[cfg(all(feature = "testkit", feature = "wire"))]
    pub(crate) fn spawned(&self, actor: Arc<dyn DynActor>) -> Arc<dyn DynActor> {
        let elsewhere = lock(&self.on_spawn).iter().find_map(|on_spawn| on_spawn(&actor));
        elsewhere.unwrap_or(actor)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Guardian;
    use crate::system::test_actors::{TestActor, system, test_actor};

    struct Other;
    impl Actor for Other {}

    fn path(number: usize) -> ActorPath {
        format!("pekko://elsewhere@host:1/user/a{number}#1").parse().unwrap()
    }

    #[test]
    fn dead_entries_are_removed() {
        let (table, system) = (FarTable::default(), system());
        let make = || test_actor(&system, Guardian::User) as Arc<dyn DynActor>;
        let size = || lock(&table.known).actors.len();
        let live: Vec<_> = (0..100).map(|number| table.intern::<TestActor>(&path(number), make)).collect();
        assert_eq!(size(), 100);
        for number in 100..2_000 {
            drop(table.intern::<TestActor>(&path(number), make));
            assert!(size() <= 64 + 2 * 100, "{} entries", size());
        }
        assert!(size() >= 100);
        for (number, core) in live.iter().enumerate() {
            assert!(Arc::ptr_eq(core, &table.intern::<TestActor>(&path(number), make)));
        }
        drop(live);
        for number in 2_000..2_300 {
            drop(table.intern::<TestActor>(&path(number), make));
        }
        assert!(size() <= 64, "{} entries", size());
    }

    #[test]
    fn refs_of_two_types_have_a_core_each() {
        let (table, system) = (FarTable::default(), system());
        let make = || test_actor(&system, Guardian::User) as Arc<dyn DynActor>;
        let entries = || lock(&table.known).actors[&Key::of(&path(1))].len();
        let first = table.intern::<TestActor>(&path(1), make);
        let other = table.intern::<Other>(&path(1), make);
        assert!(!Arc::ptr_eq(&first, &other) && entries() == 2 && table.find(&path(1)).len() == 2);
        drop(first);
        let again = table.intern::<TestActor>(&path(1), make);
        assert_eq!((entries(), table.find(&path(1)).len()), (2, 2), "the dead core was replaced");
        drop((again, other));
        let again = table.intern::<TestActor>(&path(1), make);
        assert_eq!((entries(), table.find(&path(1)).len()), (1, 1));
        drop(again);
    }
}
