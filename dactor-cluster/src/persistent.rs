use std::any::TypeId;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dactor_engine::settle::{self, Repetition, Write};
use dactor_engine::{ErrorKind, Etag, Opened, Operation, StorageError};
use serde::Serialize;

use crate::StateSerializer;
use crate::lifecycle::{ActivationCore, WriteGuard};

/// The durable state of a virtual actor: a value in memory that is always the one that is stored.
///
/// A change is stored first. If that fails, the value stays as it was and the handler gets the error. The save runs in a
/// task of its own, so a handler that is aborted or killed meanwhile never separates what is stored from the value: the
/// save is completed, and the next message waits for it.
///
/// After an error that is [`Fenced`](ErrorKind::Fenced), or whose outcome stays
/// [unknown](StorageError::may_have_been_applied), the activation is lost: it saves nothing any more and is deactivated. The
/// next message loads the state afresh.
pub struct Persistent<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    core: Arc<ActivationCore>,
    serializer: StateSerializer,
    version: u32,
    current: Mutex<Current<T>>,
}

struct Current<T> {
    value: Arc<T>,
    etag: Option<Etag>,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Current<T>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Serialize + Clone + Default + Send + Sync + 'static> Persistent<T> {
    pub(crate) fn new(
        core: Arc<ActivationCore>,
        (serializer, version): (StateSerializer, u32),
        value: T,
        opened: &Opened,
    ) -> Self {
        let current = Mutex::new(Current { value: Arc::new(value), etag: opened.etag });
        Self { shared: Arc::new(Shared { core, serializer, version, current }) }
    }

    pub(crate) fn share(&self) -> Self {
        Self { shared: self.shared.clone() }
    }

    /// The value.
    pub fn get(&self) -> Arc<T> {
        self.shared.lock().value.clone()
    }

    /// Changes a copy of the value, stores it, and then makes it the value. Returns what the closure returns.
    ///
    /// # Errors
    ///
    /// The state was not stored, and the value is as it was; see [the type](Self) for the exceptions.
    pub async fn update<R: Send>(
        &mut self,
        change: impl FnOnce(&mut T) -> R + Send,
    ) -> Result<R, StorageError> {
        let guard = self.shared.core.begin_write().await?;
        let mut value = T::clone(&self.get());
        let result = change(&mut value);
        self.store(guard, value).await?;
        Ok(result)
    }

    /// Stores a value, and then makes it the value.
    ///
    /// # Errors
    ///
    /// As for [`update`](Self::update).
    pub async fn persist(&mut self, value: T) -> Result<(), StorageError> {
        let guard = self.shared.core.begin_write().await?;
        self.store(guard, value).await
    }

    /// Removes the state from the store. The value is the default then.
    ///
    /// # Errors
    ///
    /// As for [`update`](Self::update).
    pub async fn clear(&mut self) -> Result<(), StorageError> {
        let guard = self.shared.core.begin_write().await?;
        self.write(guard, None, T::default()).await
    }

    async fn store(&self, guard: WriteGuard, value: T) -> Result<(), StorageError> {
        let Shared { serializer, version, core, .. } = &*self.shared;
        let body = serializer.encode(*version, &value).map_err(|error| error.on(&core.id))?;
        self.write(guard, Some(body), value).await
    }

    async fn write(
        &self,
        guard: WriteGuard,
        body: Option<bytes::Bytes>,
        value: T,
    ) -> Result<(), StorageError> {
        let shared = self.shared.clone();
        let core = &self.shared.core;
        if is_stateless::<T>() {
            return Ok(());
        }
        let (read, new) = (self.shared.lock().etag, Etag::random());
        let operation = if body.is_some() { Operation::Save } else { Operation::Clear };
        let write = Write { id: core.id.clone(), generation: core.generation, read, new, body };
        // In a task: the handler may be dropped, the commit and the change of memory may not come apart.
        let saving = core.runtime.spawn(async move {
            let outcome = settle::write(&*shared.core.store, &write, &Repetition::default()).await;
            match &outcome {
                Ok(()) => *shared.lock() = Current { value: Arc::new(value), etag: Some(new) },
                Err(error) if is_fatal(error) => shared.core.lose(),
                Err(_) => {}
            }
            drop(guard);
            outcome
        });
        match saving.await {
            Ok(outcome) => outcome,
            Err(ended) => {
                core.lose();
                Err(StorageError::new(ErrorKind::UnknownOutcome, operation).on(&core.id).with_source(ended))
            }
        }
    }
}

/// Whether an actor with this state needs no store.
pub(crate) fn is_stateless<T: 'static>() -> bool {
    TypeId::of::<T>() == TypeId::of::<()>()
}

/// Whether the activation does not know its own state, or may not change it any more.
fn is_fatal(error: &StorageError) -> bool {
    error.may_have_been_applied()
        || matches!(error.kind(), ErrorKind::Fenced | ErrorKind::Conflict | ErrorKind::NotFound)
}

impl<T: fmt::Debug> fmt::Debug for Persistent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Persistent").field(&self.shared.lock().value).finish()
    }
}
