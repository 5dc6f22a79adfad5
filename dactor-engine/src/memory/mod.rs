//! An in-memory engine, for tests and for actors whose states need not survive the process.

mod protocol;
mod tables;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

pub use protocol::{Protocol, Standard};
use tables::Tables;

use crate::{
    BootClock, Claim, ClaimToken, Clock, Directory, Engine, EntityId, ErrorKind, Etag, Eviction, Generation,
    Member, MemberChange, Membership, NodeId, Opened, Operation, Page, Placement, PlacementChange, Publisher,
    StateStore, StorageError, Stored, Watch,
};

/// An in-memory engine.
///
/// Clones share one store, like processes that share a database.
#[derive(Clone)]
pub struct Memory {
    shared: Arc<Shared>,
}

struct Shared {
    tables: Mutex<Tables>,
    clock: Arc<dyn Clock>,
    protocol: Box<dyn Protocol>,
    largest_state: usize,
    placements: Publisher<PlacementChange>,
    members: Publisher<MemberChange>,
}

/// The number of changes buffered for a slow watch.
const KEPT_CHANGES: usize = 1024;

impl Memory {
    /// The default maximum size of a state: 16 MiB.
    pub const LARGEST_STATE: usize = 16 << 20;

    /// An empty store with leases on the [boot clock](BootClock).
    pub fn new() -> Self {
        Self::with_clock(Arc::new(BootClock))
    }

    /// An empty store with leases on this clock.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self::with_protocol(clock, Standard)
    }

    /// An empty store with this protocol. For deliberately broken engines.
    pub fn with_protocol(clock: Arc<dyn Clock>, protocol: impl Protocol + 'static) -> Self {
        let shared = Shared {
            tables: Mutex::default(),
            clock,
            protocol: Box::new(protocol),
            largest_state: Self::LARGEST_STATE,
            placements: Publisher::new(KEPT_CHANGES),
            members: Publisher::new(KEPT_CHANGES),
        };
        Self { shared: Arc::new(shared) }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.shared.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn protocol(&self) -> &dyn Protocol {
        &*self.shared.protocol
    }

    fn now(&self) -> Duration {
        self.shared.clock.now()
    }

    fn placed(&self, id: &EntityId, placement: Placement) {
        self.shared.placements.publish(PlacementChange { id: id.clone(), placement });
    }

    fn member_changed(&self, namespace: &str, node: NodeId, alive: bool) {
        self.shared.members.publish(MemberChange { namespace: namespace.into(), node, alive });
    }

    fn write(
        &self,
        operation: Operation,
        id: &EntityId,
        (generation, read, new): (Generation, Option<Etag>, Etag),
        body: Option<Bytes>,
    ) -> Result<(), StorageError> {
        let length = body.as_ref().map_or(0, Bytes::len);
        if length > self.shared.largest_state {
            return Err(StorageError::new(ErrorKind::TooLarge, operation)
                .on(id)
                .because(format!("{length} bytes; the limit is {}", self.shared.largest_state)));
        }
        let written = self.tables().write(self.protocol(), id, (generation, read, new), body);
        written.map_err(|kind| StorageError::new(kind, operation).on(id))
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl From<Memory> for Engine {
    fn from(memory: Memory) -> Self {
        Engine::new(Arc::new(memory))
    }
}

#[async_trait]
impl Directory for Memory {
    async fn lookup(&self, id: &EntityId) -> Result<Option<Placement>, StorageError> {
        Ok(self.tables().placement(id))
    }

    async fn claim(
        &self,
        id: &EntityId,
        claimant: &NodeId,
        token: ClaimToken,
    ) -> Result<Claim, StorageError> {
        let mut tables = self.tables();
        let (claim, changed) = tables.claim(self.protocol(), id, claimant, token).map_err(|kind| {
            StorageError::new(kind, Operation::Claim).on(id).because(format!("by {claimant}"))
        })?;
        if changed && let Some(placement) = tables.placement(id) {
            // Under the lock, so that changes of an entity are published in order.
            self.placed(id, placement);
        }
        Ok(claim)
    }

    async fn release(&self, id: &EntityId, generation: Generation) -> Result<bool, StorageError> {
        let mut tables = self.tables();
        let released = tables.release(self.protocol(), id, generation);
        if released {
            self.placed(id, Placement { generation, owner: None });
        }
        Ok(released)
    }

    async fn watch_placements(&self, namespace: &str) -> Result<Watch<PlacementChange>, StorageError> {
        let namespace: Box<str> = namespace.into();
        Ok(self.shared.placements.watch(move |change| change.id.namespace() == &*namespace))
    }
}

#[async_trait]
impl Membership for Memory {
    async fn join(&self, namespace: &str, node: &NodeId, ttl: Duration) -> Result<(), StorageError> {
        let mut tables = self.tables();
        match tables.join(self.protocol(), namespace, node, ttl, self.now()) {
            Ok(new) => {
                if new {
                    self.member_changed(namespace, node.clone(), true);
                }
                Ok(())
            }
            Err(kind) => Err(StorageError::new(kind, Operation::Join).on(node)),
        }
    }

    async fn renew(&self, node: &NodeId) -> Result<(), StorageError> {
        let renewed = self.tables().renew(self.protocol(), node, self.now());
        renewed.map_err(|kind| StorageError::new(kind, Operation::Renew).on(node))
    }

    async fn evict(&self, node: &NodeId, seen: u64) -> Result<Eviction, StorageError> {
        let mut tables = self.tables();
        let (eviction, namespace) = tables.evict(self.protocol(), node, seen, self.now());
        if let (Eviction::Recorded, Some(namespace)) = (eviction, namespace) {
            self.member_changed(&namespace, node.clone(), false);
        }
        Ok(eviction)
    }

    async fn leave(&self, node: &NodeId) -> Result<(), StorageError> {
        let mut tables = self.tables();
        if let Some(namespace) = tables.leave(node) {
            self.member_changed(&namespace, node.clone(), false);
        }
        Ok(())
    }

    async fn members(&self, namespace: &str) -> Result<Vec<Member>, StorageError> {
        Ok(self.tables().members(namespace, self.now()))
    }

    async fn watch_members(&self, namespace: &str) -> Result<Watch<MemberChange>, StorageError> {
        let namespace: Box<str> = namespace.into();
        Ok(self.shared.members.watch(move |change| *change.namespace == *namespace))
    }
}

#[async_trait]
impl StateStore for Memory {
    async fn open(
        &self,
        id: &EntityId,
        generation: Generation,
        token: ClaimToken,
    ) -> Result<Opened, StorageError> {
        let opened = self.tables().open(self.protocol(), id, generation, token);
        opened.map_err(|fence| {
            let detail = format!("generation {generation} is not higher than the fence {fence}");
            StorageError::new(ErrorKind::Fenced, Operation::Open).on(id).because(detail)
        })
    }

    async fn save(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
        body: Bytes,
    ) -> Result<(), StorageError> {
        self.write(Operation::Save, id, (generation, read, new), Some(body))
    }

    async fn clear(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
    ) -> Result<(), StorageError> {
        self.write(Operation::Clear, id, (generation, read, new), None)
    }

    async fn read(&self, id: &EntityId) -> Result<Option<Stored>, StorageError> {
        Ok(self.tables().read(id))
    }

    async fn list(
        &self,
        namespace: &str,
        actor_type: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page, StorageError> {
        Ok(self.tables().list(namespace, actor_type, after, limit))
    }
}
