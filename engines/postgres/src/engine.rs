use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use dactor_engine::{
    Claim, ClaimToken, Directory, Engine, EntityId, ErrorKind, Etag, Eviction, FencedSql, Generation, Member,
    MemberChange, Membership, NodeId, Opened, Operation, Page, Placement, PlacementChange, Publisher, Row,
    StateStore, Statement, StorageError, Stored, Value, Watch,
};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio_postgres::Config;

use crate::connection::{Connector, Purpose};
use crate::error::{Effect, Fault};
use crate::pool::Pool;
use crate::queue::{Requests, queue};
use crate::saver::{Save, Saver};
use crate::sql_saver::SqlSaver;
use crate::statements::Statements;
use crate::transaction::SaveWith;
use crate::values::get;
use crate::watcher::Watcher;
use crate::{OpenError, PostgresBuilder, directory, lease, schema, sql, state, transaction};

/// The number of changes buffered for a slow watch.
const KEPT_CHANGES: usize = 1024;

/// Maximum number of saves with statements in one transaction: more would lock the application's rows for too
/// long.
const MOST_TOGETHER: usize = 64;

/// A storage engine on PostgreSQL. Clones share its connections.
///
/// Dropping the last clone closes the connections. The nodes that joined through it stay members until their leases have
/// expired and their deaths are recorded.
#[derive(Clone)]
pub struct Postgres {
    inner: Arc<Inner>,
}

struct Inner {
    schema: String,
    largest_state: usize,
    connector: Arc<Connector>,
    statements: Arc<Statements>,
    pool: Arc<Pool>,
    queries: Pool,
    leases: Pool,
    saves: Requests<Save>,
    saves_with: Requests<SaveWith>,
    watcher: Mutex<Option<Watcher>>,
    placements: Publisher<PlacementChange>,
    members: Publisher<MemberChange>,
}

impl Postgres {
    /// Opens the database at this URL (`postgres://user:password@host/database`) or with these parameters
    /// (`host=.. user=..`), and creates the engine's tables if necessary.
    pub async fn open(config: &str) -> Result<Self, OpenError> {
        Self::builder(config).open().await
    }

    /// Configures the database at this URL or with these parameters.
    pub fn builder(config: &str) -> PostgresBuilder {
        PostgresBuilder::new(config)
    }

    pub(crate) async fn start(options: PostgresBuilder) -> Result<Self, OpenError> {
        let mut config = Config::from_str(&options.config)
            .map_err(|error| OpenError::Config(crate::error::describe(&error)))?;
        let PostgresBuilder { schema, connections, batch, timeout, connect_timeout, largest_state, .. } =
            options;
        if config.get_application_name().is_none() {
            config.application_name("dactor");
        }
        if schema.is_empty() || schema.len() > 63 || schema.contains(['\0', '@']) {
            return Err(OpenError::Config(format!("{schema:?} cannot be the name of a schema")));
        }
        let runtime = Handle::try_current().map_err(|_| OpenError::NoRuntime)?;
        #[cfg(feature = "tls")]
        let tls = options.tls.map(crate::tls::Tls::new);
        #[cfg(feature = "tls")]
        if tls.is_some() {
            config.ssl_mode(tokio_postgres::config::SslMode::Require);
        }
        let connector = Connector {
            config,
            runtime,
            connect_timeout,
            timeout,
            #[cfg(feature = "tls")]
            tls,
        };
        let connector = Arc::new(connector);
        let mut connection = connector.connect(Purpose::Other).await?;
        schema::migrate(connection.client_mut(), &schema).await?;
        let statements = Arc::new(Statements::new(&schema::quoted(&schema)));
        let pool = |purpose, size| Pool::new(connector.clone(), purpose, size);
        let (saves, batches) = queue(batch, timeout);
        let saver = Saver { batches, pool: pool(Purpose::Saves, 1), statements: statements.clone() };
        connector.runtime.spawn(saver.run());
        let shared = Arc::new(pool(Purpose::Other, connections));
        shared.add(connection);
        let (saves_with, batches) = queue(batch.min(MOST_TOGETHER), timeout);
        let sql_saver = SqlSaver {
            batches,
            own: pool(Purpose::Other, 1),
            shared: shared.clone(),
            statements: statements.clone(),
            runtime: connector.runtime.clone(),
        };
        connector.runtime.spawn(sql_saver.run());
        let inner = Inner {
            schema,
            largest_state,
            queries: pool(Purpose::Queries, connections.div_ceil(2)),
            leases: pool(Purpose::Other, 1),
            pool: shared,
            connector,
            statements,
            saves,
            saves_with,
            watcher: Mutex::default(),
            placements: Publisher::new(KEPT_CHANGES),
            members: Publisher::new(KEPT_CHANGES),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The settings of a connection, as the server reports them.
    pub async fn settings(&self) -> Result<Settings, StorageError> {
        self.read_settings().await.map_err(|fault| fault.on(Operation::Read, &"settings"))
    }

    async fn read_settings(&self) -> Result<Settings, Fault> {
        let sql = "SELECT current_setting('server_version'), current_setting('synchronous_commit'),
            current_setting('statement_timeout'), current_setting('fsync')";
        let rows = self.inner.pool.get().await?.query(sql, &[], Effect::Read).await?;
        let row = rows.first().ok_or_else(|| Fault::new(ErrorKind::Serialization, "no settings"))?;
        Ok(Settings {
            server_version: get(row, 0)?,
            synchronous_commit: get(row, 1)?,
            statement_timeout: get(row, 2)?,
            fsync: get(row, 3)?,
            schema_version: schema::known(),
        })
    }

    async fn write(&self, operation: Operation, save: Save) -> Result<(), StorageError> {
        let id = save.id.clone();
        let result = match self.check_length(&save) {
            Ok(()) => self.inner.saves.run(save).await,
            Err(fault) => Err(fault),
        };
        result.map_err(|fault| fault.on(operation, &id))
    }

    fn check_length(&self, save: &Save) -> Result<(), Fault> {
        let (length, largest) = (save.body.as_ref().map_or(0, Bytes::len), self.inner.largest_state);
        if length <= largest {
            return Ok(());
        }
        Err(Fault::new(ErrorKind::TooLarge, format!("{length} bytes; the limit is {largest}")))
    }

    /// The pool, statements and timeout for transactions of the application.
    pub(crate) fn for_transactions(&self) -> (&Pool, &Statements, Duration) {
        (&self.inner.pool, &self.inner.statements, self.inner.connector.timeout)
    }

    /// Starts the watch task, unless it is running.
    async fn ensure_watcher(&self, namespace: &str) -> Result<(), StorageError> {
        let inner = &*self.inner;
        let mut watcher = inner.watcher.lock().await;
        if watcher.is_none() {
            let pool = Pool::new(inner.connector.clone(), Purpose::Other, 1);
            let (placements, members) = (inner.placements.clone(), inner.members.clone());
            let runtime = &inner.connector.runtime;
            let started = Watcher::start(runtime, pool, inner.statements.clone(), placements, members).await;
            *watcher = Some(started.map_err(|fault| fault.on(Operation::Watch, &namespace))?);
        }
        Ok(())
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("schema", &self.inner.schema).finish_non_exhaustive()
    }
}

impl From<Postgres> for Engine {
    fn from(postgres: Postgres) -> Self {
        Engine::with_sql(Arc::new(postgres))
    }
}

/// Settings of a connection, as the server reports them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// `server_version`.
    pub server_version: String,
    /// `synchronous_commit`: `on` or `remote_apply`.
    pub synchronous_commit: String,
    /// `statement_timeout`, with its unit.
    pub statement_timeout: String,
    /// `fsync`. Without it, a crash of the server's machine loses acknowledged writes.
    pub fsync: String,
    /// The version of the engine's tables.
    pub schema_version: i32,
}

/// Runs a function with a pooled connection, and adds the operation to its error.
macro_rules! with {
    ($engine:ident.$pool:ident, $operation:expr, $id:expr, $function:path $(, $argument:expr)* $(,)?) => {{
        let inner = &*$engine.inner;
        match inner.$pool.get().await {
            Ok(mut connection) => $function(&mut connection, &inner.statements $(, $argument)*).await,
            Err(fault) => Err(fault),
        }
        .map_err(|fault| fault.on($operation, $id))
    }};
}

#[async_trait]
impl Directory for Postgres {
    async fn lookup(&self, id: &EntityId) -> Result<Option<Placement>, StorageError> {
        with!(self.pool, Operation::Lookup, id, directory::lookup, id)
    }

    async fn claim(
        &self,
        id: &EntityId,
        claimant: &NodeId,
        token: ClaimToken,
    ) -> Result<Claim, StorageError> {
        with!(self.pool, Operation::Claim, id, directory::claim, id, claimant, token)
    }

    async fn release(&self, id: &EntityId, generation: Generation) -> Result<bool, StorageError> {
        with!(self.pool, Operation::Release, id, directory::release, id, generation)
    }

    async fn watch_placements(&self, namespace: &str) -> Result<Watch<PlacementChange>, StorageError> {
        self.ensure_watcher(namespace).await?;
        let namespace: Box<str> = namespace.into();
        Ok(self.inner.placements.watch(move |change| change.id.namespace() == &*namespace))
    }
}

#[async_trait]
impl Membership for Postgres {
    async fn join(&self, namespace: &str, node: &NodeId, ttl: Duration) -> Result<(), StorageError> {
        with!(self.leases, Operation::Join, node, lease::join, namespace, node, ttl)?;
        // The node has joined; the tombstones of others can wait for the next join.
        if let Ok(mut connection) = self.inner.pool.get().await {
            let _ = connection.changes(&self.inner.statements.prune, &[]).await;
        }
        Ok(())
    }

    async fn renew(&self, node: &NodeId) -> Result<(), StorageError> {
        with!(self.leases, Operation::Renew, node, lease::renew, node)
    }

    async fn evict(&self, node: &NodeId, seen: u64) -> Result<Eviction, StorageError> {
        with!(self.pool, Operation::Evict, node, lease::evict, node, seen)
    }

    async fn leave(&self, node: &NodeId) -> Result<(), StorageError> {
        with!(self.leases, Operation::Leave, node, lease::leave, node)
    }

    async fn members(&self, namespace: &str) -> Result<Vec<Member>, StorageError> {
        with!(self.pool, Operation::Members, &namespace, lease::members, namespace)
    }

    async fn watch_members(&self, namespace: &str) -> Result<Watch<MemberChange>, StorageError> {
        self.ensure_watcher(namespace).await?;
        let namespace: Box<str> = namespace.into();
        Ok(self.inner.members.watch(move |change| *change.namespace == *namespace))
    }
}

#[async_trait]
impl StateStore for Postgres {
    async fn open(
        &self,
        id: &EntityId,
        generation: Generation,
        token: ClaimToken,
    ) -> Result<Opened, StorageError> {
        with!(self.pool, Operation::Open, id, state::open, id, generation, token)
    }

    async fn save(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
        body: Bytes,
    ) -> Result<(), StorageError> {
        let body = Some(body);
        self.write(Operation::Save, Save { id: id.clone(), generation, read, new, body }).await
    }

    async fn clear(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
    ) -> Result<(), StorageError> {
        self.write(Operation::Clear, Save { id: id.clone(), generation, read, new, body: None }).await
    }

    async fn read(&self, id: &EntityId) -> Result<Option<Stored>, StorageError> {
        with!(self.pool, Operation::Read, id, state::read, id)
    }

    async fn list(
        &self,
        namespace: &str,
        actor_type: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page, StorageError> {
        let id = format!("{namespace}::{actor_type}");
        with!(self.pool, Operation::List, &id, state::list, (namespace, actor_type), after, limit)
    }
}

#[async_trait]
impl FencedSql for Postgres {
    async fn save_with(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
        body: Bytes,
        also: Arc<[Statement]>,
    ) -> Result<(), StorageError> {
        let save = Save { id: id.clone(), generation, read, new, body: Some(body) };
        let result = match self.check_length(&save).and_then(|()| transaction::check(&also)) {
            Ok(()) => self.inner.saves_with.run(SaveWith { save, also }).await,
            Err(fault) => Err(fault),
        };
        result.map_err(|fault| fault.on(Operation::Save, id))
    }

    async fn query(&self, text: &str, args: &[Value]) -> Result<Vec<Row>, StorageError> {
        let result = match self.inner.queries.get().await {
            Ok(mut connection) => sql::query(&mut connection, text, args).await,
            Err(fault) => Err(fault),
        };
        result.map_err(|fault| fault.on(Operation::Query, &"of the application"))
    }
}
