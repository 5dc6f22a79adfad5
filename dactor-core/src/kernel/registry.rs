//! The live actors of a system.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::Pid;
use crate::base::pid::PidHasher;
use crate::kernel::actor_core::DynActor;
use crate::path::Guardian;

/// Sharded by id, because actors start and end on every thread.
const SHARDS: usize = 16;

/// The live actors of a system, and their names.
#[derive(Default)]
pub(crate) struct Registry {
    closed: AtomicBool,
    /// How many removed actors have not notified their watchers and waiters yet.
    leaving: AtomicUsize,
    shards: [Shard; SHARDS],
    /// Names of the top-level actors: user actors, and services.
    users: Names,
    services: Names,
}

type Names = Mutex<HashMap<Arc<str>, Weak<dyn DynActor>>>;

/// On a cache line of its own, against false sharing.
#[derive(Default)]
#[repr(align(64))]
struct Shard(Mutex<HashMap<Pid, Arc<dyn DynActor>, PidHasher>>);

/// The entry of an actor in the registry of its system.
#[must_use]
pub(crate) struct Registration(Pid);

/// Why an actor was not registered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Closed,
    NameTaken,
    ParentStopped,
}

impl Registry {
    /// The top-level actor with this name.
    pub(crate) fn get(&self, guardian: Guardian, name: &str) -> Option<Arc<dyn DynActor>> {
        lock(self.names(guardian)).get(name)?.upgrade()
    }

    /// The actor with this id.
    pub(crate) fn by_number(&self, pid: Pid) -> Option<Arc<dyn DynActor>> {
        lock(self.shard(pid)).get(&pid).cloned()
    }

    fn shard(&self, pid: Pid) -> &Mutex<HashMap<Pid, Arc<dyn DynActor>, PidHasher>> {
        &self.shards[pid.get() as usize % SHARDS].0
    }

    fn names(&self, guardian: Guardian) -> &Names {
        if guardian == Guardian::User { &self.users } else { &self.services }
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(&shard.0).len()).sum()
    }

    /// Refuses further actors. All registered ones are in a later [`snapshot`](Self::snapshot).
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    /// Whether the actors are being shut down.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// The registered actors in spawn order, so that a shutdown is reproducible.
    pub(crate) fn snapshot(&self) -> Vec<Arc<dyn DynActor>> {
        let mut live = Vec::new();
        for shard in &self.shards {
            live.extend(lock(&shard.0).values().cloned());
        }
        live.sort_unstable_by_key(|actor| actor.pid());
        live
    }

    /// The top-level actors below a guardian, unordered.
    pub(crate) fn top_level(&self, guardian: Guardian) -> Vec<Arc<dyn DynActor>> {
        let mut top = Vec::new();
        for shard in &self.shards {
            let live = lock(&shard.0);
            let below = live.values().filter(|actor| {
                let meta = actor.meta();
                meta.parent().is_none() && meta.guardian() == guardian
            });
            top.extend(below.cloned());
        }
        top
    }

    /// Registers a new actor under its name. A child belongs to this generation of its parent's children.
    pub(crate) fn register(
        &self,
        actor: &Arc<dyn DynActor>,
        generation: u32,
    ) -> Result<Registration, Refused> {
        if self.is_closed() {
            return Err(Refused::Closed);
        }
        match (actor.meta().parent(), actor.meta().name()) {
            (Some(parent), _) => parent.meta().family().add(actor.clone(), generation)?,
            (None, None) => {}
            (None, Some(name)) => match lock(self.names(actor.meta().guardian())).entry(name.clone()) {
                Entry::Occupied(_) => return Err(Refused::NameTaken),
                Entry::Vacant(free) => {
                    free.insert(Arc::downgrade(actor));
                }
            },
        }
        let pid = actor.meta().pid();
        let mut live = lock(self.shard(pid));
        // Checked under the lock: either a shutdown's snapshot sees this actor, or this sees the shutdown.
        if !self.closed.load(Ordering::SeqCst) {
            live.insert(pid, actor.clone());
            return Ok(Registration(pid));
        }
        drop(live);
        self.release(&**actor);
        Err(Refused::Closed)
    }

    /// Removes an actor and its name. It is [leaving](Self::is_anyone_leaving) until it has
    /// [left](Self::left).
    pub(crate) fn unregister(&self, Registration(pid): Registration) {
        // Incremented before the removal: a snapshot without the actor finds it leaving, or its waiters
        // notified.
        self.leaving.fetch_add(1, Ordering::SeqCst);
        let removed = lock(self.shard(pid)).remove(&pid);
        if let Some(actor) = removed {
            self.release(&*actor);
        }
    }

    /// A removed actor has notified its watchers and waiters.
    pub(crate) fn left(&self) {
        self.leaving.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether a removed actor has yet to notify its watchers or waiters.
    pub(crate) fn is_anyone_leaving(&self) -> bool {
        self.leaving.load(Ordering::SeqCst) > 0
    }

    fn release(&self, actor: &dyn DynActor) {
        match (actor.meta().parent(), actor.meta().name()) {
            (Some(parent), _) => parent.meta().family().remove(actor.pid()),
            (None, None) => {}
            (None, Some(name)) => {
                lock(self.names(actor.meta().guardian())).remove(name);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
