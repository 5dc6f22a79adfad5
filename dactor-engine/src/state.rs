use async_trait::async_trait;
use bytes::Bytes;

use crate::{ClaimToken, EntityId, Etag, Generation, StorageError};

/// The durable states of entities, each with its fence.
///
/// The *fence* of an entity is the highest generation that has [opened](Self::open) its state. Only that
/// generation can write. A write is durable when it returns `Ok`.
#[async_trait]
pub trait StateStore: Send + Sync {
    /// Raises the fence to this generation and loads the state, in one step.
    ///
    /// Fails with [`Fenced`](crate::ErrorKind::Fenced) unless the generation is higher than the fence, or
    /// equal to it with the same token (a retry after a lost response). Opening creates the row of the
    /// entity.
    async fn open(
        &self,
        id: &EntityId,
        generation: Generation,
        token: ClaimToken,
    ) -> Result<Opened, StorageError>;

    /// Replaces the state, if the fence is this generation and the stored etag is `read`.
    ///
    /// Otherwise fails with [`Fenced`](crate::ErrorKind::Fenced), [`Conflict`](crate::ErrorKind::Conflict),
    /// or [`NotFound`](crate::ErrorKind::NotFound) for a state that was never opened, and changes nothing.
    /// `new` must be random and not be reused for other content. After
    /// [`UnknownOutcome`](crate::ErrorKind::UnknownOutcome) use [`settle::write`](crate::settle::write).
    async fn save(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
        body: Bytes,
    ) -> Result<(), StorageError>;

    /// Removes the state under the conditions of [`save`](Self::save), and keeps the row with its fence and the etag
    /// `new`. Without the fence, an old owner could write again.
    async fn clear(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
    ) -> Result<(), StorageError>;

    /// Reads a state with its fence, without raising the fence; `None` if it was never opened.
    async fn read(&self, id: &EntityId) -> Result<Option<Stored>, StorageError>;

    /// Lists the keys of the entities of a type that have a state, in byte order: at most `limit` keys, all
    /// after `after`.
    async fn list(
        &self,
        namespace: &str,
        actor_type: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page, StorageError>;
}

/// An opened state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The etag to pass to the first save; `None` if there was never a save.
    pub etag: Option<Etag>,
    /// The state; `None` if there was never a save, or if it was cleared.
    pub body: Option<Bytes>,
}

/// A stored state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The highest generation that has opened the state.
    pub fence: Generation,
    /// The etag of the last write; `None` if there was none.
    pub etag: Option<Etag>,
    /// The state; `None` if there was never a save, or if it was cleared.
    pub body: Option<Bytes>,
}

/// A page of entity keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Page {
    /// The keys, in byte order.
    pub keys: Vec<String>,
    /// The key to continue after; `None` if there are no more keys.
    pub next: Option<String>,
}

impl Page {
    /// The first `limit` of the keys. For engines, which query `limit + 1` keys to detect whether there are
    /// more.
    pub fn new(mut keys: Vec<String>, limit: usize) -> Self {
        let more = keys.len() > limit;
        keys.truncate(limit);
        let next = if more { keys.last().cloned() } else { None };
        Self { keys, next }
    }
}
