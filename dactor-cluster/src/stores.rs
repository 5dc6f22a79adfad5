//! State stores for tests.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use dactor_engine::{ClaimToken, EntityId, Etag, Generation, Opened, Page, StateStore, StorageError, Stored};

/// A store that keeps nothing: each activation starts with the default state.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoStore;

#[async_trait]
impl StateStore for NoStore {
    async fn open(&self, _: &EntityId, _: Generation, _: ClaimToken) -> Result<Opened, StorageError> {
        Ok(Opened { etag: None, body: None })
    }

    async fn save(
        &self,
        _: &EntityId,
        _: Generation,
        _: Option<Etag>,
        _: Etag,
        _: Bytes,
    ) -> Result<(), StorageError> {
        Ok(())
    }

    async fn clear(&self, _: &EntityId, _: Generation, _: Option<Etag>, _: Etag) -> Result<(), StorageError> {
        Ok(())
    }

    async fn read(&self, _: &EntityId) -> Result<Option<Stored>, StorageError> {
        Ok(None)
    }

    async fn list(&self, _: &str, _: &str, _: Option<&str>, _: usize) -> Result<Page, StorageError> {
        Ok(Page::default())
    }
}

/// A write recorded by a [`CapturingStore`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The actor.
    pub id: EntityId,
    /// The generation of the writer.
    pub generation: Generation,
    /// The state; `None` if it was cleared.
    pub body: Option<Bytes>,
    /// Whether the write was stored.
    pub stored: bool,
}

/// A wrapper that records all writes to a store.
///
/// ```
/// use std::sync::Arc;
/// use dactor_cluster::stores::CapturingStore;
/// use dactor_engine::{Engine, Memory};
///
/// let memory = Engine::from(Memory::new());
/// let captured = CapturingStore::new(memory.state.clone());
/// let engine = Engine { state: Arc::new(captured.clone()), ..memory };
/// // ... `Cluster::builder(&system).engine(engine)` ...
/// assert!(captured.writes().is_empty());
/// ```
#[derive(Clone)]
pub struct CapturingStore {
    inner: Arc<dyn StateStore>,
    writes: Arc<Mutex<Vec<Captured>>>,
}

impl CapturingStore {
    /// Records the writes to this store.
    pub fn new(inner: Arc<dyn StateStore>) -> Self {
        Self { inner, writes: Arc::default() }
    }

    /// The recorded writes, in order.
    pub fn writes(&self) -> Vec<Captured> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Captured>> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn captured(&self, id: &EntityId, generation: Generation, body: Option<Bytes>, stored: bool) {
        self.lock().push(Captured { id: id.clone(), generation, body, stored });
    }
}

impl fmt::Debug for CapturingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CapturingStore").field("writes", &self.lock().len()).finish_non_exhaustive()
    }
}

#[async_trait]
impl StateStore for CapturingStore {
    async fn open(
        &self,
        id: &EntityId,
        generation: Generation,
        token: ClaimToken,
    ) -> Result<Opened, StorageError> {
        self.inner.open(id, generation, token).await
    }

    async fn save(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
        body: Bytes,
    ) -> Result<(), StorageError> {
        let saved = self.inner.save(id, generation, read, new, body.clone()).await;
        self.captured(id, generation, Some(body), saved.is_ok());
        saved
    }

    async fn clear(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
    ) -> Result<(), StorageError> {
        let cleared = self.inner.clear(id, generation, read, new).await;
        self.captured(id, generation, None, cleared.is_ok());
        cleared
    }

    async fn read(&self, id: &EntityId) -> Result<Option<Stored>, StorageError> {
        self.inner.read(id).await
    }

    async fn list(
        &self,
        namespace: &str,
        actor_type: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page, StorageError> {
        self.inner.list(namespace, actor_type, after, limit).await
    }
}
