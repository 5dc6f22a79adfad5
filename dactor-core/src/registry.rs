//! Who lives in a system.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use slab::Slab;

use crate::path::Guardian;
use crate::shared::Control;

/// Actors are born and end on every thread, each in the shard of its number.
const SHARDS: usize = 16;

/// The live actors of a system, and their names.
#[derive(Default)]
pub(crate) struct Registry {
    closed: AtomicBool,
    shards: [Shard; SHARDS],
    /// Of the actors at the top: those of the users, and the system's own.
    users: Names,
    services: Names,
}

type Names = Mutex<HashMap<Arc<str>, Weak<dyn Control>>>;

/// On a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Shard(Mutex<Slab<Arc<dyn Control>>>);

/// An actor's place in its system.
#[must_use]
pub(crate) struct Enrolment {
    shard: usize,
    key: usize,
}

/// Why an actor was not taken in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Closed,
    NameTaken,
    ParentStopped,
}

impl Registry {
    /// The actor of this name at the top.
    pub(crate) fn get(&self, guardian: Guardian, name: &str) -> Option<Arc<dyn Control>> {
        lock(self.names(guardian)).get(name)?.upgrade()
    }

    fn names(&self, guardian: Guardian) -> &Names {
        if guardian == Guardian::User { &self.users } else { &self.services }
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(&shard.0).len()).sum()
    }

    /// Lets nobody in any more. Whoever is in is seen by a later [`snapshot`](Self::snapshot).
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn snapshot(&self) -> Vec<Arc<dyn Control>> {
        let mut live = Vec::new();
        for shard in &self.shards {
            live.extend(lock(&shard.0).iter().map(|(_, actor)| actor.clone()));
        }
        live
    }

    /// Takes a new actor in, under its name.
    pub(crate) fn enrol(&self, actor: Arc<dyn Control>) -> Result<Enrolment, Refused> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(Refused::Closed);
        }
        match (&actor.head().parent, &actor.head().name) {
            (Some(parent), _) => parent.head().family.add(actor.clone())?,
            (None, None) => {}
            (None, Some(name)) => match lock(self.names(actor.head().guardian)).entry(name.clone()) {
                Entry::Occupied(_) => return Err(Refused::NameTaken),
                Entry::Vacant(free) => {
                    free.insert(Arc::downgrade(&actor));
                }
            },
        }
        let shard = actor.head().pid.get() as usize % SHARDS;
        let mut live = lock(&self.shards[shard].0);
        // Looked at under the lock: either this is seen by the snapshot of a shutdown, or the shutdown is seen here.
        if !self.closed.load(Ordering::SeqCst) {
            return Ok(Enrolment { shard, key: live.insert(actor) });
        }
        drop(live);
        self.release(&*actor);
        Err(Refused::Closed)
    }

    /// Lets an actor go, and its name.
    pub(crate) fn strike(&self, Enrolment { shard, key }: Enrolment) {
        let actor = lock(&self.shards[shard].0).remove(key);
        self.release(&*actor);
    }

    fn release(&self, actor: &dyn Control) {
        match (&actor.head().parent, &actor.head().name) {
            (Some(parent), _) => parent.head().family.remove(actor.pid()),
            (None, None) => {}
            (None, Some(name)) => {
                lock(self.names(actor.head().guardian)).remove(name);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
