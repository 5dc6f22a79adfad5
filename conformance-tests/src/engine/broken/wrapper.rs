use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use dactor_engine::{
    Claim, ClaimToken, Directory, Engine, EntityId, ErrorKind, Etag, Eviction, Generation, Member,
    MemberChange, MemberState, Membership, Memory, NodeId, Opened, Operation, Page, Placement,
    PlacementChange, Publisher, StateStore, StorageError, Stored, Watch,
};

use crate::engine::TestStore;
use crate::engine::context::NAMESPACE;
use crate::engine::subject::SharedStore;

/// A store whose flaw may be in its opening.
pub(super) struct FlawedStore {
    pub(super) flaw: &'static str,
    pub(super) engine: Arc<Flawed>,
    pub(super) store: SharedStore,
}

#[async_trait]
impl TestStore for FlawedStore {
    async fn open(&self) -> Engine {
        match self.flaw {
            "forgets-everything" => Memory::new().into(),
            "forgets-the-last-save" => {
                let last = locked(&self.engine.last_save, Option::take);
                if let Some((id, generation, etag)) = last {
                    // Fails if the state has been saved or opened since.
                    let _ = self.engine.memory.clear(&id, generation, Some(etag), Etag::random()).await;
                }
                self.store.open().await
            }
            _ => self.store.open().await,
        }
    }

    async fn advance(&self, by: Duration) {
        self.store.advance(by).await;
    }
}

/// A memory engine with one operation that does something else.
pub(super) struct Flawed {
    flaw: &'static str,
    memory: Memory,
    placements: Publisher<PlacementChange>,
    members: Publisher<MemberChange>,
    /// States that were ever opened.
    opened: Mutex<BTreeSet<EntityId>>,
    first_bodies: Mutex<HashMap<EntityId, Bytes>>,
    last_save: Mutex<Option<(EntityId, Generation, Etag)>>,
    refused: AtomicBool,
}

fn locked<T, R>(mutex: &Mutex<T>, access: impl FnOnce(&mut T) -> R) -> R {
    access(&mut mutex.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Flawed {
    pub(super) fn new(flaw: &'static str, memory: Memory) -> Self {
        Self {
            flaw,
            memory,
            placements: Publisher::new(64),
            members: Publisher::new(64),
            opened: Mutex::default(),
            first_bodies: Mutex::default(),
            last_save: Mutex::default(),
            refused: AtomicBool::new(false),
        }
    }

    /// The id under which the engine keeps the entity.
    fn id(&self, id: &EntityId) -> EntityId {
        let (namespace, actor_type, key) = (id.namespace(), id.actor_type(), id.key());
        let id = match self.flaw {
            "folds-case" => EntityId::new(namespace, actor_type, &key.to_lowercase()),
            "trims-keys" if !key.trim().is_empty() => EntityId::new(namespace, actor_type, key.trim()),
            "joins-the-fields" => EntityId::new(namespace, "joined", &id.to_string()),
            "ignores-namespaces" => EntityId::new(NAMESPACE, actor_type, key),
            "ignores-types" => EntityId::new(namespace, "any", key),
            _ => return id.clone(),
        };
        id.expect("a valid id")
    }

    fn watches_wrongly(&self) -> bool {
        matches!(self.flaw, "watches-in-silence" | "watches-all-namespaces")
    }

    fn placed(&self, id: &EntityId, placement: Placement) {
        if self.flaw == "watches-all-namespaces" {
            self.placements.publish(PlacementChange { id: id.clone(), placement });
        }
    }

    fn member(&self, namespace: &str, node: &NodeId, alive: bool) {
        if self.flaw == "watches-all-namespaces" {
            self.members.publish(MemberChange { namespace: namespace.into(), node: node.clone(), alive });
        }
    }

    async fn save_flawed(
        &self,
        id: &EntityId,
        (generation, read, new): (Generation, Option<Etag>, Etag),
        mut body: Bytes,
    ) -> Result<(), StorageError> {
        let memory = &self.memory;
        match self.flaw {
            "compares-etags-too-early" => {
                let before = memory.read(id).await?.and_then(|stored| stored.etag);
                if before != read {
                    return Err(StorageError::new(ErrorKind::Conflict, Operation::Save).on(id));
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
                let current = memory.read(id).await?.and_then(|stored| stored.etag);
                memory.save(id, generation, current, new, body).await
            }
            "creates-on-save" => {
                if memory.read(id).await?.is_none() {
                    memory.open(id, generation, ClaimToken::random()).await?;
                }
                memory.save(id, generation, read, new, body).await
            }
            "fails-the-neighbours" if self.refused.swap(false, Ordering::SeqCst) => {
                Err(StorageError::new(ErrorKind::Io, Operation::Save).on(id))
            }
            "truncates" => {
                body.truncate(64 << 10);
                memory.save(id, generation, read, new, body).await
            }
            "takes-empty-for-cleared" if body.is_empty() => memory.clear(id, generation, read, new).await,
            _ => memory.save(id, generation, read, new, body).await,
        }
    }
}

#[async_trait]
impl Directory for Flawed {
    async fn lookup(&self, id: &EntityId) -> Result<Option<Placement>, StorageError> {
        let placement = self.memory.lookup(&self.id(id)).await?;
        Ok(placement.filter(|row| self.flaw != "lookup-forgets-released-rows" || row.owner.is_some()))
    }

    async fn claim(
        &self,
        id: &EntityId,
        claimant: &NodeId,
        token: ClaimToken,
    ) -> Result<Claim, StorageError> {
        let id = self.id(id);
        if self.flaw == "claims-in-two-steps" && self.memory.lookup(&id).await?.is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let _ = self.memory.claim(&id, claimant, token).await?;
            return Ok(Claim::Granted(Generation::FIRST));
        }
        let claim = self.memory.claim(&id, claimant, token).await?;
        if let Claim::Granted(generation) = claim {
            self.placed(&id, Placement { generation, owner: Some(claimant.clone()) });
        }
        Ok(claim)
    }

    async fn release(&self, id: &EntityId, generation: Generation) -> Result<bool, StorageError> {
        let released = self.memory.release(&self.id(id), generation).await?;
        self.placed(id, Placement { generation, owner: None });
        Ok(released)
    }

    async fn watch_placements(&self, namespace: &str) -> Result<Watch<PlacementChange>, StorageError> {
        if self.watches_wrongly() {
            return Ok(self.placements.watch(|_| true));
        }
        self.memory.watch_placements(namespace).await
    }
}

#[async_trait]
impl Membership for Flawed {
    async fn join(&self, namespace: &str, node: &NodeId, ttl: Duration) -> Result<(), StorageError> {
        self.memory.join(namespace, node, ttl).await?;
        self.member(namespace, node, true);
        Ok(())
    }

    async fn renew(&self, node: &NodeId) -> Result<(), StorageError> {
        if self.flaw == "does-not-prolong" {
            return Ok(());
        }
        self.memory.renew(node).await
    }

    async fn evict(&self, node: &NodeId, seen: u64) -> Result<Eviction, StorageError> {
        if self.flaw == "never-evicts" {
            return Ok(Eviction::Alive);
        }
        self.memory.evict(node, seen).await
    }

    async fn leave(&self, node: &NodeId) -> Result<(), StorageError> {
        if self.flaw == "forgets-a-leave" {
            return Ok(());
        }
        self.member(NAMESPACE, node, false);
        self.memory.leave(node).await
    }

    async fn members(&self, namespace: &str) -> Result<Vec<Member>, StorageError> {
        let mut members = self.memory.members(namespace).await?;
        if self.flaw == "mixes-the-members" && namespace == NAMESPACE {
            members.extend(self.memory.members("elsewhere").await?);
        }
        for member in &mut members {
            match self.flaw {
                "does-not-count-renewals" => member.renewals = 0,
                "calls-the-overdue-gone" if member.state == MemberState::Overdue => {
                    member.state = MemberState::Gone;
                }
                _ => {}
            }
        }
        Ok(members)
    }

    async fn watch_members(&self, namespace: &str) -> Result<Watch<MemberChange>, StorageError> {
        if self.watches_wrongly() {
            return Ok(self.members.watch(|_| true));
        }
        self.memory.watch_members(namespace).await
    }
}

#[async_trait]
impl StateStore for Flawed {
    async fn open(
        &self,
        id: &EntityId,
        generation: Generation,
        token: ClaimToken,
    ) -> Result<Opened, StorageError> {
        let id = self.id(id);
        locked(&self.opened, |opened| opened.insert(id.clone()));
        if self.flaw == "opens-in-two-steps" {
            let loaded = self.memory.read(&id).await?;
            tokio::time::sleep(Duration::from_millis(1)).await;
            let opened = self.memory.open(&id, generation, token).await?;
            return Ok(loaded.map_or(opened, |loaded| Opened { etag: loaded.etag, body: loaded.body }));
        }
        let mut opened = self.memory.open(&id, generation, token).await?;
        if self.flaw == "loads-an-old-body" && opened.body.is_some() {
            opened.body = locked(&self.first_bodies, |bodies| bodies.get(&id).cloned());
        }
        Ok(opened)
    }

    async fn save(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
        body: Bytes,
    ) -> Result<(), StorageError> {
        let id = self.id(id);
        let result = self.save_flawed(&id, (generation, read, new), body.clone()).await;
        match &result {
            Ok(()) => {
                locked(&self.first_bodies, |bodies| {
                    bodies.entry(id.clone()).or_insert(body);
                });
                locked(&self.last_save, |last| *last = Some((id, generation, new)));
            }
            Err(error) if error.kind() != ErrorKind::Io => self.refused.store(true, Ordering::SeqCst),
            Err(_) => {}
        }
        result
    }

    async fn clear(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
    ) -> Result<(), StorageError> {
        let id = self.id(id);
        match self.flaw {
            "clear-ignores-its-etag" => self.memory.clear(&id, generation, read, Etag::random()).await,
            "clear-keeps-the-body" => {
                let body = self.memory.read(&id).await?.and_then(|stored| stored.body);
                self.memory.save(&id, generation, read, new, body.unwrap_or_default()).await
            }
            _ => self.memory.clear(&id, generation, read, new).await,
        }
    }

    async fn read(&self, id: &EntityId) -> Result<Option<Stored>, StorageError> {
        let mut stored = self.memory.read(&self.id(id)).await?;
        if self.flaw == "read-hides-the-etag"
            && let Some(stored) = &mut stored
        {
            stored.etag = None;
        }
        Ok(stored)
    }

    async fn list(
        &self,
        namespace: &str,
        actor_type: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page, StorageError> {
        let list = |actor_type: &'static str, limit| self.memory.list(namespace, actor_type, after, limit);
        let mut keys = match self.flaw {
            "lists-cleared-states" => {
                let all = locked(&self.opened, |opened| opened.clone()).into_iter();
                let all = all.filter(|id| id.namespace() == namespace && id.actor_type() == actor_type);
                all.map(|id| id.key().to_owned())
                    .filter(|key| after.is_none_or(|after| **key > *after))
                    .collect()
            }
            "lists-all-types" => {
                let mut keys = list("Account", limit + 1).await?.keys;
                keys.extend(list("Ledger", limit + 1).await?.keys);
                keys
            }
            "repeats-the-last-key" => {
                let mut keys = self.memory.list(namespace, actor_type, after, limit + 1).await?.keys;
                keys.extend(after.map(str::to_owned));
                keys
            }
            "ignores-the-limit" => return self.memory.list(namespace, actor_type, after, limit + 1).await,
            _ => return self.memory.list(namespace, actor_type, after, limit).await,
        };
        keys.sort();
        Ok(Page::new(keys, limit))
    }
}
