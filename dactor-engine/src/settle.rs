//! Retries writes with an unknown outcome.
//!
//! A read alone cannot determine the outcome: the write may still be in flight and be applied after the read.
//! So the same conditional write is retried with the same etag. The second copy to arrive fails its
//! condition, so the content is applied at most once. Only if the retry matches no row, a read tells whether
//! the first copy was applied.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::{
    EntityId, ErrorKind, Etag, FencedSql, Generation, Operation, StateStore, Statement, StorageError,
};

/// A conditional write that can be retried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The entity.
    pub id: EntityId,
    /// The generation of the writer.
    pub generation: Generation,
    /// The etag that the writer read.
    pub read: Option<Etag>,
    /// The random etag of this content.
    pub new: Etag,
    /// The state; `None` clears it.
    pub body: Option<Bytes>,
}

impl Write {
    fn operation(&self) -> Operation {
        if self.body.is_some() { Operation::Save } else { Operation::Clear }
    }
}

/// The retry policy of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repetition {
    /// The maximum number of retries of a write with an unknown outcome.
    pub most: u32,
    /// The backoff before the first retry; it doubles with each.
    pub first_pause: Duration,
    /// The maximum backoff.
    pub longest_pause: Duration,
}

impl Default for Repetition {
    /// Eight retries, with a backoff of 5 ms to 500 ms: about 1.1 s.
    fn default() -> Self {
        Self { most: 8, first_pause: Duration::from_millis(5), longest_pause: Duration::from_millis(500) }
    }
}

impl Repetition {
    /// Sets the maximum number of retries.
    #[must_use]
    pub fn most(mut self, most: u32) -> Self {
        self.most = most;
        self
    }

    /// Sets the backoff before the first retry.
    #[must_use]
    pub fn first_pause(mut self, pause: Duration) -> Self {
        self.first_pause = pause;
        self
    }
}

/// Writes, and retries while the outcome is unknown.
///
/// `Ok` means that the content is stored. After an error,
/// [`may_have_been_applied`](StorageError::may_have_been_applied) tells whether the content may be stored
/// nevertheless: then the writer must give up its activation, because its own state is unknown.
pub async fn write(
    store: &dyn StateStore,
    write: &Write,
    repetition: &Repetition,
) -> Result<(), StorageError> {
    Attempt { store, write, sql: None }.settle(repetition).await
}

/// Like [`write()`], with statements of the application, which are applied once, with the save.
///
/// # Errors
///
/// Those of [`write()`] and of [`save_with`](FencedSql::save_with); [`Unsupported`](ErrorKind::Unsupported) for
/// a write that clears the state.
pub async fn write_with(
    sql: &dyn FencedSql,
    write: &Write,
    also: &Arc<[Statement]>,
    repetition: &Repetition,
) -> Result<(), StorageError> {
    Attempt { store: sql, write, sql: Some((sql, also)) }.settle(repetition).await
}

/// The write to retry.
struct Attempt<'a> {
    store: &'a dyn StateStore,
    write: &'a Write,
    sql: Option<(&'a dyn FencedSql, &'a Arc<[Statement]>)>,
}

impl Attempt<'_> {
    async fn apply(&self) -> Result<(), StorageError> {
        let Write { id, generation, read, new, body } = self.write;
        match (body, self.sql) {
            (Some(body), None) => self.store.save(id, *generation, *read, *new, body.clone()).await,
            (Some(body), Some((sql, also))) => {
                sql.save_with(id, *generation, *read, *new, body.clone(), also.clone()).await
            }
            (None, None) => self.store.clear(id, *generation, *read, *new).await,
            (None, Some(_)) => Err(StorageError::new(ErrorKind::Unsupported, Operation::Clear)
                .on(id)
                .because("a clear has no statements")),
        }
    }

    async fn settle(&self, repetition: &Repetition) -> Result<(), StorageError> {
        let mut unknown = match self.apply().await {
            Err(error) if error.kind() == ErrorKind::UnknownOutcome => error,
            known => return known,
        };
        let mut pause = repetition.first_pause;
        for _ in 0..repetition.most {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(repetition.longest_pause);
            match self.repeat().await {
                Ok(outcome) => return outcome,
                Err(still_unknown) => unknown = still_unknown,
            }
        }
        Err(StorageError::new(ErrorKind::UnknownOutcome, self.write.operation())
            .on(&self.write.id)
            .because(format!("it is still unknown after {} repetitions", repetition.most))
            .with_source(unknown))
    }

    /// Retries a write with an unknown outcome. The outer `Err` means that it is still unknown.
    async fn repeat(&self) -> Result<Result<(), StorageError>, StorageError> {
        let write = self.write;
        let error = match self.apply().await {
            Ok(()) => return Ok(Ok(())),
            Err(error) => error,
        };
        match error.kind() {
            // A new owner has opened the state. Its open either saw the lost write, or no open ever will.
            ErrorKind::Fenced => Ok(Err(error.maybe_applied())),
            ErrorKind::Conflict => match self.store.read(&write.id).await? {
                Some(stored) if stored.fence != write.generation => {
                    let fenced = StorageError::new(ErrorKind::Fenced, write.operation()).on(&write.id);
                    Ok(Err(fenced.maybe_applied()))
                }
                Some(stored) if stored.etag == Some(write.new) => Ok(Ok(())),
                _ => Ok(Err(error)),
            },
            ErrorKind::NotFound | ErrorKind::TooLarge => Ok(Err(error)),
            // The statements depend on tables that others change: the first copy may still be applied.
            ErrorKind::Statement | ErrorKind::RowCount => Ok(Err(error.maybe_applied())),
            _ => Err(error),
        }
    }
}
