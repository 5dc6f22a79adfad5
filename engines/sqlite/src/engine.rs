use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dactor_engine::{
    Claim, ClaimToken, Directory, Engine, EntityId, ErrorKind, Eviction, Generation, Member, MemberChange,
    Membership, NodeId, Operation, Placement, PlacementChange, Publisher, StorageError, Watch,
};
use rusqlite::Connection;

use crate::alive::AliveLocks;
use crate::connection::{connect_leases, connect_reader, create};
use crate::error::Fault;
use crate::files::{Files, Gate};
use crate::lease::Leases;
use crate::machine::Machine;
use crate::requests::{Reply, Request};
use crate::watcher::Watcher;
use crate::worker::Worker;
use crate::writer::{StartError, Writer, WriterConfig};
use crate::{OpenError, SqliteBuilder, reader};

/// The number of read connections.
const READERS: usize = 2;

/// The number of changes buffered for a slow watch.
const KEPT_CHANGES: usize = 1024;

/// A storage engine on SQLite. Clones share its threads and connections.
///
/// Dropping the last clone closes the database and releases the nodes that joined through it: other processes
/// see them as [`Gone`](dactor_engine::MemberState::Gone).
#[derive(Clone)]
pub struct Sqlite {
    inner: Arc<Inner>,
}

struct Inner {
    files: Files,
    busy_limit: Duration,
    largest_state: usize,
    writer: Writer,
    readers: [Worker; READERS],
    next_reader: AtomicUsize,
    lease_worker: Worker,
    leases: Arc<Leases>,
    watcher: Mutex<Option<Watcher>>,
    placements: Publisher<PlacementChange>,
    members: Publisher<MemberChange>,
}

impl Sqlite {
    /// Opens the database in this directory, and creates it if necessary. Blocks for disk access.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::builder(path).open()
    }

    /// Configures the database in this directory.
    pub fn builder(path: impl AsRef<Path>) -> SqliteBuilder {
        SqliteBuilder::new(path.as_ref())
    }

    pub(crate) fn start(options: SqliteBuilder) -> Result<Self, OpenError> {
        let SqliteBuilder { path, batch, busy_limit, timeout, largest_state, max_pages, clock } = options;
        let files = Files::prepare(&path)?;
        let io = |error| OpenError::io(&files.gate, error);
        let gate = Gate::open(&files.gate).map_err(io)?;
        {
            let entered = gate.enter_within(busy_limit).map_err(io)?;
            let _entered = entered.ok_or_else(|| OpenError::Locked(files.gate.clone()))?;
            create(&files, busy_limit)?;
        }
        let sqlite = |error| OpenError::sqlite(&files.state, error);
        let thread = |error| OpenError::io(&files.directory, error);
        let reader = || {
            let connection = connect_reader(&files.state, busy_limit).map_err(sqlite)?;
            Worker::start("dactor-sqlite-reader", connection, timeout).map_err(thread)
        };
        let readers = [reader()?, reader()?];
        let connection = connect_leases(&files.lease, busy_limit).map_err(sqlite)?;
        let lease_worker = Worker::start("dactor-sqlite-leases", connection, timeout).map_err(thread)?;
        let config = WriterConfig { files: files.clone(), gate, batch, busy_limit, max_pages, timeout };
        let writer = Writer::start(config).map_err(|error| match error {
            StartError::Sqlite(error) => sqlite(error),
            StartError::Thread(error) => thread(error),
        })?;
        let alive = Arc::new(AliveLocks::new(files.alive.clone()));
        let inner = Inner {
            files,
            busy_limit,
            largest_state,
            writer,
            readers,
            next_reader: AtomicUsize::new(0),
            lease_worker,
            leases: Arc::new(Leases { clock, alive, machine: Machine::current() }),
            watcher: Mutex::default(),
            placements: Publisher::new(KEPT_CHANGES),
            members: Publisher::new(KEPT_CHANGES),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    pub(crate) fn largest_state(&self) -> usize {
        self.inner.largest_state
    }

    /// The settings of the connection that writes the states, as SQLite reports them.
    pub async fn settings(&self) -> Result<Settings, StorageError> {
        match self.inner.writer.run(Request::Settings, &"settings").await? {
            Reply::Settings(settings) => Ok(settings),
            other => Err(unexpected(Operation::Read, &"settings", &other)),
        }
    }

    /// The settings of the connection that writes the leases, as SQLite reports them.
    pub async fn lease_settings(&self) -> Result<Settings, StorageError> {
        let read = |connection: &mut Connection| Settings::read(connection).map_err(Fault::from);
        let result = self.inner.lease_worker.run(ErrorKind::Unavailable, read).await;
        result.map_err(|fault| fault.on(Operation::Read, &"lease settings"))
    }

    pub(crate) async fn read_state<T: Send + 'static>(
        &self,
        operation: Operation,
        id: &(impl fmt::Display + Sync),
        job: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StorageError> {
        let next = self.inner.next_reader.fetch_add(1, Ordering::Relaxed) % READERS;
        let job = |connection: &mut Connection| job(connection);
        let result = self.inner.readers[next].run(ErrorKind::Unavailable, job).await;
        result.map_err(|fault| fault.on(operation, id))
    }

    async fn with_leases<T: Send + 'static>(
        &self,
        operation: Operation,
        id: &(impl fmt::Display + Sync),
        late: ErrorKind,
        job: impl FnOnce(&Leases, &mut Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StorageError> {
        let leases = self.inner.leases.clone();
        let job = move |connection: &mut Connection| job(&leases, connection);
        let result = self.inner.lease_worker.run(late, job).await;
        result.map_err(|fault| fault.on(operation, id))
    }

    /// Removes expired tombstones.
    async fn prune(&self) -> Result<(), StorageError> {
        let (operation, what) = (Operation::Join, "tombstones");
        let late = ErrorKind::Unavailable;
        let dead = self.with_leases(operation, &what, late, |_, leases| Leases::prunable(leases)).await?;
        if dead.is_empty() {
            return Ok(());
        }
        if let Reply::Unowned(nodes) = self.inner.writer.run(Request::Unowned(dead), &what).await? {
            let prune = move |_: &Leases, leases: &mut Connection| Leases::prune(leases, &nodes);
            self.with_leases(operation, &what, late, prune).await?;
        }
        Ok(())
    }

    pub(crate) async fn request(&self, request: Request, id: &EntityId) -> Result<Reply, StorageError> {
        self.inner.writer.run(request, id).await
    }

    pub(crate) async fn write(&self, request: Request, id: &EntityId) -> Result<(), StorageError> {
        let operation = request.operation();
        match self.inner.writer.run(request, id).await? {
            Reply::Written => Ok(()),
            other => Err(unexpected(operation, id, &other)),
        }
    }

    /// Starts the watch thread, unless it is running. Blocks for a few reads.
    fn ensure_watcher(&self, namespace: &str) -> Result<(), StorageError> {
        let inner = &*self.inner;
        let mut watcher = inner.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        if watcher.is_none() {
            let start = || {
                let state = connect_reader(&inner.files.state, inner.busy_limit)?;
                let leases = connect_reader(&inner.files.lease, inner.busy_limit)?;
                Watcher::start(state, leases, inner.placements.clone(), inner.members.clone())
            };
            *watcher = Some(start().map_err(|error| Fault::from(error).on(Operation::Watch, &namespace))?);
        }
        Ok(())
    }
}

pub(crate) fn unexpected(operation: Operation, id: &impl fmt::Display, reply: &Reply) -> StorageError {
    StorageError::new(ErrorKind::Serialization, operation)
        .on(id)
        .because(format!("the answer belongs to another request: {reply:?}"))
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqlite").field("directory", &self.inner.files.directory).finish_non_exhaustive()
    }
}

impl From<Sqlite> for Engine {
    fn from(sqlite: Sqlite) -> Self {
        Engine::with_sql(Arc::new(sqlite))
    }
}

/// Settings of a connection, as SQLite reports them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// `journal_mode`.
    pub journal_mode: String,
    /// `synchronous`: 1 is `NORMAL`, 2 is `FULL`.
    pub synchronous: i64,
    /// `wal_autocheckpoint`, in pages.
    pub wal_autocheckpoint: i64,
    /// `page_size`, in bytes.
    pub page_size: i64,
    /// `max_page_count`.
    pub max_page_count: i64,
    /// `application_id`, which identifies the files of this crate.
    pub application_id: i64,
    /// `user_version`, the version of the schema.
    pub user_version: i64,
}

impl Settings {
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get(0));
        Ok(Self {
            journal_mode: connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?,
            synchronous: number("synchronous")?,
            wal_autocheckpoint: number("wal_autocheckpoint")?,
            page_size: number("page_size")?,
            max_page_count: number("max_page_count")?,
            application_id: number("application_id")?,
            user_version: number("user_version")?,
        })
    }
}

#[async_trait]
impl Directory for Sqlite {
    async fn lookup(&self, id: &EntityId) -> Result<Option<Placement>, StorageError> {
        let entity = id.clone();
        self.read_state(Operation::Lookup, id, move |state| reader::lookup(state, &entity)).await
    }

    async fn claim(
        &self,
        id: &EntityId,
        claimant: &NodeId,
        token: ClaimToken,
    ) -> Result<Claim, StorageError> {
        let request = Request::Claim { id: id.clone(), node: claimant.clone(), token };
        match self.inner.writer.run(request, id).await? {
            Reply::Claimed(claim) => Ok(claim),
            other => Err(unexpected(Operation::Claim, id, &other)),
        }
    }

    async fn release(&self, id: &EntityId, generation: Generation) -> Result<bool, StorageError> {
        match self.inner.writer.run(Request::Release { id: id.clone(), generation }, id).await? {
            Reply::Released(released) => Ok(released),
            other => Err(unexpected(Operation::Release, id, &other)),
        }
    }

    async fn watch_placements(&self, namespace: &str) -> Result<Watch<PlacementChange>, StorageError> {
        self.ensure_watcher(namespace)?;
        let namespace: Box<str> = namespace.into();
        Ok(self.inner.placements.watch(move |change| change.id.namespace() == &*namespace))
    }
}

#[async_trait]
impl Membership for Sqlite {
    async fn join(&self, namespace: &str, node: &NodeId, ttl: Duration) -> Result<(), StorageError> {
        let (namespace, joining) = (namespace.to_owned(), node.clone());
        let join = move |leases: &Leases, connection: &mut Connection| {
            leases.join(connection, &namespace, &joining, ttl)
        };
        self.with_leases(Operation::Join, node, ErrorKind::UnknownOutcome, join).await?;
        // The node has joined; the tombstones of others can wait for the next join.
        let _ = self.prune().await;
        Ok(())
    }

    async fn renew(&self, node: &NodeId) -> Result<(), StorageError> {
        let renewing = node.clone();
        let renew = move |leases: &Leases, connection: &mut Connection| leases.renew(connection, &renewing);
        self.with_leases(Operation::Renew, node, ErrorKind::UnknownOutcome, renew).await
    }

    async fn evict(&self, node: &NodeId, seen: u64) -> Result<Eviction, StorageError> {
        let evicted = node.clone();
        let evict =
            move |leases: &Leases, connection: &mut Connection| leases.evict(connection, &evicted, seen);
        self.with_leases(Operation::Evict, node, ErrorKind::UnknownOutcome, evict).await
    }

    async fn leave(&self, node: &NodeId) -> Result<(), StorageError> {
        let leaving = node.clone();
        let leave = move |leases: &Leases, connection: &mut Connection| leases.leave(connection, &leaving);
        self.with_leases(Operation::Leave, node, ErrorKind::UnknownOutcome, leave).await
    }

    async fn members(&self, namespace: &str) -> Result<Vec<Member>, StorageError> {
        let of = namespace.to_owned();
        let members = move |leases: &Leases, connection: &mut Connection| leases.members(connection, &of);
        self.with_leases(Operation::Members, &namespace, ErrorKind::Unavailable, members).await
    }

    async fn watch_members(&self, namespace: &str) -> Result<Watch<MemberChange>, StorageError> {
        self.ensure_watcher(namespace)?;
        let namespace: Box<str> = namespace.into();
        Ok(self.inner.members.watch(move |change| *change.namespace == *namespace))
    }
}
