use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dactor_engine::ErrorKind;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::connection::{Connection, Connector, Purpose};
use crate::error::Fault;

/// A connection pool for one purpose. Connects on demand, and reconnects after a loss.
///
/// A general-purpose pool would hide whether a statement was already sent when its connection was lost. The
/// outcome of a write depends on that.
#[derive(Debug)]
pub(crate) struct Pool {
    connector: Arc<Connector>,
    purpose: Purpose,
    size: usize,
    permits: Semaphore,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    pub(crate) fn new(connector: Arc<Connector>, purpose: Purpose, size: usize) -> Self {
        let idle = Mutex::new(Vec::with_capacity(size));
        Self { connector, purpose, size, permits: Semaphore::new(size), idle }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a connection. A failure has changed nothing.
    pub(crate) async fn get(&self) -> Result<Pooled<'_>, Fault> {
        let limit = self.connector.timeout;
        let permit = match tokio::time::timeout(limit, self.permits.acquire()).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) => return Err(Fault::new(ErrorKind::Unavailable, "the engine is closed").permanent()),
            Err(_) => {
                let text = format!("all {} connections were busy for {limit:?}", self.size);
                return Err(Fault::new(ErrorKind::Unavailable, text));
            }
        };
        let connection = match self.take() {
            Some(connection) => connection,
            None => self.connector.connect(self.purpose).await?,
        };
        Ok(Pooled { pool: self, connection: Some(connection), _permit: permit })
    }

    fn take(&self) -> Option<Connection> {
        let mut idle = self.idle();
        while let Some(connection) = idle.pop() {
            if connection.is_usable() {
                return Some(connection);
            }
        }
        None
    }

    /// Adds an existing connection.
    pub(crate) fn add(&self, connection: Connection) {
        let mut idle = self.idle();
        if idle.len() < self.size {
            idle.push(connection);
        }
    }
}

/// A pooled connection, which returns to its pool when dropped.
#[derive(Debug)]
pub(crate) struct Pooled<'a> {
    pool: &'a Pool,
    /// `None` only during drop.
    connection: Option<Connection>,
    // Released after the connection.
    _permit: SemaphorePermit<'a>,
}

impl Deref for Pooled<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("the connection is there until the drop")
    }
}

impl DerefMut for Pooled<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("the connection is there until the drop")
    }
}

impl Drop for Pooled<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take().filter(Connection::is_usable) {
            self.pool.add(connection);
        }
    }
}
