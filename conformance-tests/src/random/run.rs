//! The shared state of one run.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dactor_core::path::ActorUid;
use dactor_core::{ActorRef, System};
use tokio::task::JoinHandle;

use super::actor::ProgramActor;
use super::history::History;
use super::program::Spawn;

/// Time limit of every expected event.
const LIMIT: Duration = Duration::from_secs(3600);
const REAL_LIMIT: Duration = Duration::from_secs(10);

/// The runtime that programs run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runtime {
    /// One thread with a simulated clock: a run is deterministic.
    Simulated,
    /// One thread in real time.
    OneThread,
    /// Two threads in real time.
    TwoThreads,
}

/// The state of one run.
pub(super) struct Run {
    pub(super) history: Arc<History>,
    pub(super) runtime: Runtime,
    pub(super) system: Mutex<Option<System>>,
    pub(super) actors: Mutex<BTreeMap<usize, Option<ActorRef<ProgramActor>>>>,
    pub(super) uids: Mutex<BTreeMap<ActorUid, usize>>,
    ids: AtomicU64,
    /// How many actors live under each name of `get_or_spawn`.
    pub(super) singles: [Arc<AtomicUsize>; 2],
    /// Tasks that await answers.
    pub(super) tasks: Mutex<Vec<JoinHandle<()>>>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run {
    pub(super) fn new(runtime: Runtime) -> Arc<Self> {
        Arc::new(Self {
            history: History::new(),
            runtime,
            system: Mutex::default(),
            actors: Mutex::default(),
            uids: Mutex::default(),
            ids: AtomicU64::new(0),
            singles: Default::default(),
            tasks: Mutex::default(),
        })
    }

    pub(super) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(super) fn actor(&self, slot: usize) -> Option<ActorRef<ProgramActor>> {
        lock(&self.actors).get(&slot).cloned().flatten()
    }

    pub(super) fn slot_of(&self, uid: ActorUid) -> Option<usize> {
        lock(&self.uids).get(&uid).copied()
    }

    /// Claims the number of a spawn, unless it is taken.
    pub(super) fn claim(&self, spec: &Spawn) -> Option<Arc<Spawn>> {
        let mut actors = lock(&self.actors);
        if actors.contains_key(&spec.slot) {
            return None;
        }
        actors.insert(spec.slot, None);
        Some(Arc::new(spec.clone()))
    }

    /// Sleeps; in real time only for a fraction.
    pub(super) async fn sleep(&self, ms: u64) {
        match self.runtime {
            Runtime::Simulated => tokio::time::sleep(Duration::from_millis(ms)).await,
            _ if ms >= 100 => tokio::time::sleep(Duration::from_millis(ms / 100)).await,
            _ => yields(ms).await,
        }
    }

    pub(super) fn limit(&self) -> Duration {
        if self.runtime == Runtime::Simulated { LIMIT } else { REAL_LIMIT }
    }

    /// A time limit that the API enforces.
    pub(super) fn within(&self, ms: u64) -> Duration {
        Duration::from_millis(if self.runtime == Runtime::Simulated { ms } else { ms.min(20) })
    }

    pub(super) fn later(&self, task: impl Future<Output = ()> + Send + 'static) {
        lock(&self.tasks).push(tokio::spawn(task));
    }
}

pub(super) async fn yields(count: u64) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}
