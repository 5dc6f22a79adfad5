use std::any::TypeId;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dactor_engine::settle::{self, Repetition, Write};
use dactor_engine::{ErrorKind, Etag, FencedSql, Opened, Operation, Statement, StorageError};
use serde::Serialize;

use crate::StateSerializer;
use crate::lifecycle::{ActivationCore, WriteGuard};

/// The durable state of a virtual actor: a value in memory that always equals the stored value.
///
/// A change is stored first. If that fails, the value is unchanged and the handler gets the error. The save
/// runs in a separate task: when a handler is aborted or killed in the meantime, the save still completes,
/// and the next message waits for it. So the value and the stored state never diverge.
///
/// After a [`Fenced`](ErrorKind::Fenced) error, or one whose outcome stays
/// [unknown](StorageError::may_have_been_applied), the activation is lost: it no longer saves and is
/// deactivated. The next message reloads the state.
pub struct Persistent<T> {
    shared: Arc<Shared<T>>,
}

/// Statements of the application, with the engine that runs them.
type Also = Option<(Arc<dyn FencedSql>, Arc<[Statement]>)>;

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

    /// The current value.
    pub fn get(&self) -> Arc<T> {
        self.shared.lock().value.clone()
    }

    /// Changes a copy of the value, stores it, and then replaces the value. Returns the result of the
    /// closure.
    ///
    /// # Errors
    ///
    /// The state was not stored, and the value is unchanged; see [the type](Self) for the exceptions.
    pub async fn update<R: Send>(
        &mut self,
        change: impl FnOnce(&mut T) -> R + Send,
    ) -> Result<R, StorageError> {
        let guard = self.shared.core.begin_write().await?;
        let mut value = T::clone(&self.get());
        let result = change(&mut value);
        self.store(guard, value, None).await?;
        Ok(result)
    }

    /// Stores a new value, and then replaces the current one.
    ///
    /// # Errors
    ///
    /// As for [`update`](Self::update).
    pub async fn persist(&mut self, value: T) -> Result<(), StorageError> {
        let guard = self.shared.core.begin_write().await?;
        self.store(guard, value, None).await
    }

    /// Like [`update`](Self::update), with statements on tables of the application. The save and the
    /// statements are committed atomically in one transaction, and only while this activation owns the actor.
    ///
    /// ```
    /// # use dactor_cluster::Persistent;
    /// # use dactor_engine::{Statement, StorageError};
    /// # #[derive(serde::Serialize, serde::Deserialize, Clone, Default)]
    /// # struct Stock { left: i64 }
    /// # async fn sell(stock: &mut Persistent<Stock>, order: i64) -> Result<(), StorageError> {
    /// let sale = Statement::new("INSERT INTO sales (id, order_id) VALUES ($1, $2)");
    /// stock.update_with(|stock| stock.left -= 1, [sale.bind(1).bind(order).expect_rows(1)]).await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`update`](Self::update); a [`Statement`](ErrorKind::Statement) or [`RowCount`](ErrorKind::RowCount) that
    /// names the statement; [`Unsupported`](ErrorKind::Unsupported) if the engine has no SQL, or if the actor has no state.
    pub async fn update_with<R: Send>(
        &mut self,
        change: impl FnOnce(&mut T) -> R + Send,
        also: impl IntoIterator<Item = Statement>,
    ) -> Result<R, StorageError> {
        let also = self.with_sql(also)?;
        let guard = self.shared.core.begin_write().await?;
        let mut value = T::clone(&self.get());
        let result = change(&mut value);
        self.store(guard, value, also).await?;
        Ok(result)
    }

    /// Like [`persist`](Self::persist), with statements on tables of the application.
    ///
    /// # Errors
    ///
    /// As for [`update_with`](Self::update_with).
    pub async fn persist_with(
        &mut self,
        value: T,
        also: impl IntoIterator<Item = Statement>,
    ) -> Result<(), StorageError> {
        let also = self.with_sql(also)?;
        let guard = self.shared.core.begin_write().await?;
        self.store(guard, value, also).await
    }

    /// Combines the statements with the engine. Not async, because the iterator need not be `Send`.
    fn with_sql(&self, also: impl IntoIterator<Item = Statement>) -> Result<Also, StorageError> {
        let also: Arc<[Statement]> = also.into_iter().collect();
        let core = &self.shared.core;
        let unsupported =
            |why| StorageError::new(ErrorKind::Unsupported, Operation::Save).on(&core.id).because(why);
        match &core.sql {
            _ if also.is_empty() => Ok(None),
            _ if is_stateless::<T>() => Err(unsupported("an actor without a state has no fence")),
            Some(sql) => Ok(Some((sql.clone(), also))),
            None => Err(unsupported("it has no SQL")),
        }
    }

    /// Removes the state from the store, and resets the value to the default.
    ///
    /// # Errors
    ///
    /// As for [`update`](Self::update).
    pub async fn clear(&mut self) -> Result<(), StorageError> {
        let guard = self.shared.core.begin_write().await?;
        self.write(guard, None, T::default(), None).await
    }

    async fn store(&self, guard: WriteGuard, value: T, also: Also) -> Result<(), StorageError> {
        let Shared { serializer, version, core, .. } = &*self.shared;
        let body = serializer.encode(*version, &value).map_err(|error| error.on(&core.id))?;
        self.write(guard, Some(body), value, also).await
    }

    async fn write(
        &self,
        guard: WriteGuard,
        body: Option<bytes::Bytes>,
        value: T,
        also: Also,
    ) -> Result<(), StorageError> {
        let shared = self.shared.clone();
        let core = &self.shared.core;
        if is_stateless::<T>() {
            return Ok(());
        }
        let (read, new) = (self.shared.lock().etag, Etag::random());
        let operation = if body.is_some() { Operation::Save } else { Operation::Clear };
        let write = Write { id: core.id.clone(), generation: core.generation, read, new, body };
        // In a separate task: if the handler is dropped, the commit and the change in memory must still both
        // happen.
        let saving = core.runtime.spawn(async move {
            let repetition = Repetition::default();
            let outcome = match &also {
                Some((sql, also)) => settle::write_with(&**sql, &write, also, &repetition).await,
                None => settle::write(&*shared.core.store, &write, &repetition).await,
            };
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

/// Whether an actor with this state type needs no store.
pub(crate) fn is_stateless<T: 'static>() -> bool {
    TypeId::of::<T>() == TypeId::of::<()>()
}

/// Whether the stored state is unknown to the activation, or it must no longer write it.
fn is_fatal(error: &StorageError) -> bool {
    error.may_have_been_applied()
        || matches!(error.kind(), ErrorKind::Fenced | ErrorKind::Conflict | ErrorKind::NotFound)
}

impl<T: fmt::Debug> fmt::Debug for Persistent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Persistent").field(&self.shared.lock().value).finish()
    }
}
