use std::any::TypeId;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, mpsc};
use std::time::Duration;

use dactor_core::spi::{self, FarRoute};
use dactor_core::{ActorId, ActorPath, ActorRef, Error, ErrorKind, Result, System};
use dactor_engine::{
    BootClock, Clock, Engine, EntityId, Generation, NodeId, Operation, Page, Reaper, StorageError,
};
use tokio::runtime::Handle;

use crate::activate::{remaining, retry};
use crate::catalog::{ByUse, Catalog};
use crate::entry::Entry;
use crate::lease::Epoch;
use crate::lifecycle::ActivationCore;
use crate::parents::{Root, TypeParent};
use crate::placement::{Candidate, PlacementDecision};
use crate::route::VirtualRoute;
use crate::{
    ActivationState, ClusterError, DeactivationReason, OnLeaseLost, SqlReader, TypeOptions, VirtualActor,
};

mod builder;

pub use builder::ClusterBuilder;

/// The virtual actors of a system, on this node.
///
/// Clones are handles to the same cluster. It ends with its system, or with [`shutdown`](Self::shutdown).
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) system: System,
    pub(crate) engine: Engine,
    pub(crate) runtime: Handle,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) catalog: Catalog,
    pub(crate) lease: LeaseOptions,
    /// Incremented while the actors' runtime makes progress.
    pub(crate) progress: AtomicU64,
    types: HashMap<TypeId, Arc<TypeInfo>>,
    roles: BTreeSet<String>,
    max_active: usize,
    epoch: RwLock<Arc<Epoch>>,
    reaper: tokio::sync::Mutex<Reaper>,
    closing: AtomicBool,
    /// Whether the node has left: messages are refused.
    left: AtomicBool,
    root: OnceLock<ActorRef<Root>>,
    /// Ends the renewal thread when dropped.
    renewals: Mutex<Option<mpsc::Sender<()>>>,
}

/// The lease settings of the node.
#[derive(Debug, Clone)]
pub(crate) struct LeaseOptions {
    pub(crate) address: String,
    pub(crate) ttl: Duration,
    pub(crate) margin: Duration,
    pub(crate) on_lost: OnLeaseLost,
}

/// A type of virtual actors.
pub(crate) struct TypeInfo {
    pub(crate) name: &'static str,
    /// An id of the type, which shares its namespace and type with other ids.
    id: EntityId,
    pub(crate) options: TypeOptions,
    pub(crate) parent: OnceLock<ActorRef<TypeParent>>,
    pub(crate) by_use: ByUse,
    /// Whether a warning about its ids was logged.
    warned: AtomicBool,
}

impl Cluster {
    pub(crate) fn of(inner: Arc<Inner>) -> Self {
        Self { inner }
    }

    /// Configures the virtual actors of a system. The namespace of the cluster is the name of the system.
    pub fn builder(system: &System) -> ClusterBuilder {
        ClusterBuilder::new(system.clone())
    }

    /// Returns a ref to a virtual actor. The actor is not activated before the first message.
    ///
    /// # Errors
    ///
    /// [`InvalidName`](ErrorKind::InvalidName) for an empty or over-long key, or one with a reserved delimiter (`::` or `/`);
    /// [`Unsupported`](ErrorKind::Unsupported) if the type is not registered.
    pub fn actor<A: VirtualActor>(&self, key: &str) -> Result<ActorRef<A>> {
        let inner = &self.inner;
        let kind = inner.kind::<A>()?;
        let invalid =
            || Error::new(ErrorKind::InvalidName).with("type", A::TYPE).with("name", format!("{key:?}"));
        let id = ActorId::new(inner.namespace(), A::TYPE, key).map_err(|error| invalid().because(error))?;
        if let Some(warning) = id.warnings().next()
            && !kind.warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(actor = %id, ?warning, "an id is awkward in logs and URLs");
        }
        let entity = kind.id.with_key(key).map_err(|error| invalid().because(error))?;
        let path = ActorPath::of_virtual_actor(inner.system.parts(), A::TYPE, key)
            .map_err(|error| invalid().because(error))?;
        spi::far_ref(&inner.system, &path, || {
            inner.route(&entity, || Entry::new(inner.clone(), kind.clone(), entity.clone()))
        })
    }

    /// The number of active and activating actors on this node.
    pub fn active(&self) -> usize {
        self.inner.catalog.len()
    }

    /// The state of an actor's activation on this node.
    ///
    /// # Errors
    ///
    /// Those of [`actor`](Self::actor).
    pub fn state_of<A: VirtualActor>(&self, key: &str) -> Result<ActivationState> {
        self.inner.kind::<A>()?;
        let id = EntityId::new(self.inner.namespace(), A::TYPE, key)
            .map_err(|error| Error::new(ErrorKind::InvalidName).with("type", A::TYPE).because(error))?;
        let entry = self.inner.catalog.get(&id);
        Ok(entry.map_or(ActivationState::Invalid, |entry| entry.state()))
    }

    /// This node, in its current incarnation.
    pub fn node(&self) -> NodeId {
        self.inner.epoch().node().clone()
    }

    /// Whether the node has a lease and may serve.
    pub fn is_serving(&self) -> bool {
        !self.inner.is_closing() && self.inner.epoch().check().is_ok()
    }

    /// Lists the keys of the actors of a type that have a stored state, in byte order: at most `limit` keys,
    /// all after `after`.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    pub async fn stored<A: VirtualActor>(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page, StorageError> {
        self.inner.engine.state.list(self.inner.namespace(), A::TYPE, after, limit).await
    }

    /// Returns a reader for tables of the application. For writes see
    /// [`Persistent::update_with`](crate::Persistent::update_with).
    ///
    /// # Errors
    ///
    /// [`Unsupported`](dactor_engine::ErrorKind::Unsupported) if the engine has no SQL.
    pub fn sql(&self) -> Result<SqlReader, StorageError> {
        let unsupported = || {
            let error = StorageError::new(dactor_engine::ErrorKind::Unsupported, Operation::Query);
            error.because("it has no SQL")
        };
        self.inner.engine.sql.clone().map(SqlReader::new).ok_or_else(unsupported)
    }

    /// Deactivates all actors and leaves the cluster. The system keeps running.
    ///
    /// # Errors
    ///
    /// [`AskedItself`](ErrorKind::AskedItself) in the code of a virtual actor.
    pub async fn shutdown(&self) -> Result<()> {
        self.inner.closing.store(true, Ordering::Release);
        match self.inner.root.get() {
            Some(root) => {
                root.drain();
                root.wait().await.map(drop)
            }
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (namespace, active) = (self.inner.namespace(), self.active());
        f.debug_struct("Cluster")
            .field("namespace", &namespace)
            .field("active", &active)
            .finish_non_exhaustive()
    }
}

impl Inner {
    pub(crate) fn namespace(&self) -> &str {
        self.system.name()
    }

    fn kind<A: VirtualActor>(&self) -> Result<&Arc<TypeInfo>> {
        self.types.get(&TypeId::of::<A>()).ok_or_else(|| {
            let error = Error::new(ErrorKind::Unsupported).with("type", A::TYPE);
            error.with("because", "the type is not registered: `Cluster::builder(..).register::<..>()`")
        })
    }

    /// The route of a new ref. Leads to the active entry, if any: code of an ended activation may still hold
    /// an older one.
    pub(crate) fn route<A: VirtualActor>(
        &self,
        id: &EntityId,
        other: impl FnOnce() -> Arc<Entry<A>>,
    ) -> Arc<dyn FarRoute<A>> {
        let active = self.catalog.get(id).and_then(|entry| entry.into_any().downcast::<Entry<A>>().ok());
        Arc::new(VirtualRoute::new(active.unwrap_or_else(other)))
    }

    pub(crate) fn types(&self) -> impl Iterator<Item = &Arc<TypeInfo>> {
        self.types.values()
    }

    /// This node, in its current incarnation.
    pub(crate) fn epoch(&self) -> Arc<Epoch> {
        self.epoch.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_epoch(&self, epoch: Epoch) {
        *self.epoch.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(epoch);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire) || spi::is_shutting_down(&self.system)
    }

    pub(crate) fn has_left(&self) -> bool {
        self.left.load(Ordering::Acquire)
    }

    /// Whether the actors above the activations have ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.root.get().is_some_and(|root| root.is_alive() == Some(false))
    }

    pub(crate) fn place(&self, kind: &TypeInfo, id: &EntityId, node: &NodeId) -> PlacementDecision {
        let mut here = Candidate::new(node.clone()).load(self.catalog.len());
        here.roles.clone_from(&self.roles);
        kind.options.placement.place(id, node, &[here], 0)
    }

    /// Registers an activation. Beyond the limit, the least recently used actor is deactivated.
    pub(crate) fn activated(&self, kind: &TypeInfo, core: &Arc<ActivationCore>) {
        kind.by_use.add(core);
        if self.catalog.len() <= self.max_active {
            return;
        }
        let oldest = self.types().filter_map(|kind| Some((kind.by_use.oldest()?, kind)));
        if let Some(victim) =
            oldest.min_by_key(|(time, _)| *time).and_then(|(_, kind)| kind.by_use.take_oldest(u64::MAX))
        {
            victim.end(dactor_core::End::Drain, DeactivationReason::Capacity);
        }
    }

    /// Releases the ownership of an actor in the background.
    pub(crate) fn release(&self, core: &ActivationCore) {
        self.release_generation(core.id.clone(), core.generation);
    }

    pub(crate) fn release_generation(&self, id: EntityId, generation: Generation) {
        let directory = self.engine.directory.clone();
        self.runtime.spawn(async move {
            if let Err(error) = retry(|| directory.release(&id, generation)).await {
                tracing::warn!(actor = %id, %error, "the ownership could not be released");
            }
        });
    }

    /// Records the deaths of nodes that do not renew their leases.
    pub(crate) async fn reap(&self) {
        let mut reaper = self.reaper.lock().await;
        if let Err(error) = reaper.reap(&*self.engine.membership, self.namespace()).await {
            tracing::debug!(%error, "the leases could not be looked at");
        }
    }

    pub(crate) async fn remaining_lease(&self, node: &NodeId) -> Duration {
        match self.engine.membership.members(self.namespace()).await {
            Ok(members) => remaining(&members, node, self.lease.ttl),
            Err(_) => self.lease.ttl,
        }
    }

    /// Handles a lost lease: drops all activations without a final save.
    pub(crate) fn lose(&self, epoch: &Epoch) {
        if !epoch.lose() {
            return;
        }
        tracing::warn!(node = %epoch.node(), active = self.catalog.len(), "the node has lost its lease");
        for entry in self.catalog.snapshot() {
            entry.lose();
        }
    }

    /// Leaves the cluster after all activations have ended.
    pub(crate) async fn leave(&self) {
        self.closing.store(true, Ordering::Release);
        drop(self.renewals.lock().unwrap_or_else(PoisonError::into_inner).take());
        let epoch = self.epoch();
        let was_lost = !epoch.lose();
        // Set before the entries are drained, so that no message is added afterwards.
        self.left.store(true, Ordering::Release);
        // Messages sent during the shutdown.
        for entry in self.catalog.snapshot() {
            entry.lose();
        }
        if was_lost {
            return;
        }
        let left = retry(|| self.engine.membership.leave(epoch.node()));
        match tokio::time::timeout(Duration::from_secs(2), left).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(node = %epoch.node(), %error, "the node could not leave"),
            Err(_) => tracing::warn!(node = %epoch.node(), "the node could not leave in time"),
        }
    }
}
