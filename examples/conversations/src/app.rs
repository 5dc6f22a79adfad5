//! The parts of the server, put together and taken apart.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dactor::cluster::engine::{Engine, Statement};
use dactor::cluster::{Cluster, ClusterError, Postgres, Sqlite, TypeOptions};
use dactor::interceptors::Metrics;
use dactor::prelude::*;

use crate::AnyError;
use crate::conversation::Conversation;
use crate::database::{Database, PostgresPool, SqlitePool};
use crate::migrations::{Migrate, Schema};
use crate::service::Service;
use crate::sweeper::{Caretaker, Sweeper};

/// How the server works.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Where the data is.
    pub store: Store,
    /// The percentage of conversations on actors.
    pub share: u8,
    /// `ractor` or `kameo`.
    pub backend: String,
    /// A conversation without requests is deactivated after this time.
    pub idle_after: Duration,
    /// The most requests that wait for one conversation.
    pub mailbox: usize,
    /// The most conversations in memory.
    pub max_active: usize,
    /// How long a request waits for its conversation.
    pub request_timeout: Duration,
    /// Plain connections, for the naive path and for views.
    pub pool: usize,
    /// Whether the actors are measured.
    pub metrics: bool,
}

/// Where the data is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Store {
    /// SQLite, in this directory.
    Sqlite(PathBuf),
    /// PostgreSQL, at this URL.
    Postgres(String),
}

impl Store {
    /// Plain connections to the data.
    pub fn pool(&self, size: usize) -> Result<Arc<dyn Database>, AnyError> {
        Ok(match self {
            Self::Sqlite(directory) => Arc::new(SqlitePool::open(&directory.join("state.db"), size)?),
            Self::Postgres(url) => Arc::new(PostgresPool::new(&with_schema(url), size)?),
        })
    }

    async fn engine(&self) -> Result<Engine, AnyError> {
        Ok(match self {
            Self::Sqlite(directory) => Sqlite::open(directory)?.into(),
            Self::Postgres(url) => {
                let schema = || vec![Statement::new("CREATE SCHEMA IF NOT EXISTS conversations")];
                let pool = self.pool(1)?;
                // Two processes that start at once: one of them may be told that it exists.
                if pool.transaction(schema()).await.is_err() {
                    pool.transaction(schema()).await?;
                }
                Postgres::builder(&with_schema(url)).schema("conversations_engine").open().await?.into()
            }
        })
    }
}

/// Tables without a schema are those of the schema `conversations`, unless the URL says otherwise.
fn with_schema(url: &str) -> String {
    if url.contains("options=") {
        return url.to_owned();
    }
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}options=-csearch_path%3Dconversations")
}

impl Settings {
    /// The settings of a server without arguments, with its data in this directory.
    pub fn sqlite(directory: impl Into<PathBuf>) -> Self {
        Self::new(Store::Sqlite(directory.into()))
    }

    /// The settings of a server without arguments, with its data here.
    pub fn new(store: Store) -> Self {
        Self {
            store,
            share: 100,
            backend: "ractor".into(),
            idle_after: Duration::from_secs(300),
            mailbox: 1024,
            max_active: 100_000,
            request_timeout: Duration::from_secs(10),
            pool: 8,
            metrics: false,
        }
    }
}

/// A running server, without HTTP.
#[derive(Debug)]
pub struct App {
    /// The conversations.
    pub service: Service,
    system: System,
}

impl App {
    /// Opens the database, creates the tables and starts the actors.
    pub async fn start(settings: &Settings) -> Result<Self, AnyError> {
        let engine = settings.store.engine().await?;
        let system = System::builder("conversations").grace(Duration::from_secs(20));
        let system = if settings.metrics { system.with(Metrics::install) } else { system };
        let system = match &*settings.backend {
            "ractor" => system.backend(dactor::ractor()).build()?,
            "kameo" => system.backend(dactor::kameo()).build()?,
            other => return Err(format!("the backend {other} is not known: ractor or kameo").into()),
        };
        let options = TypeOptions::default()
            .idle_after(settings.idle_after)
            .ask_timeout(settings.request_timeout)
            .bounded(settings.mailbox, Overflow::Reject);
        let cluster = Cluster::builder(&system)
            .engine(engine)
            .register_with::<Conversation>(options)
            .register::<Schema>()
            .max_active(settings.max_active)
            .start()
            .await?;
        let version = migrate(&cluster).await?;
        let database = settings.store.pool(settings.pool)?;
        let swept = database.clone();
        system.spawn(move || Caretaker::new(Sweeper::new(swept.clone()))).name("caretaker").await?;
        tracing::info!(version, share = settings.share, backend = %settings.backend, "the tables are ready");
        Ok(Self { service: Service::new(cluster, database, settings.share), system })
    }

    /// Ends the actors: each stores what it has only in memory. The database is closed then.
    pub async fn shutdown(self) -> Result<(), AnyError> {
        Ok(self.system.shutdown().await?)
    }
}

/// Brings the tables up to date. Another process may be doing it, or may have died doing it: then its lease ends first.
async fn migrate(cluster: &Cluster) -> Result<usize, AnyError> {
    let schema = cluster.actor::<Schema>("tables")?;
    let begin = Instant::now();
    loop {
        match schema.ask(Migrate).await {
            Ok(version) => {
                // Other processes may want to look, too.
                schema.stop();
                return Ok(version);
            }
            Err(error) => match error.downcast_ref() {
                Some(ClusterError::OwnedElsewhere { .. }) if begin.elapsed() < Duration::from_secs(30) => {
                    tracing::info!("another process has the tables");
                    tokio::time::sleep(Duration::from_millis(250)).await;
                }
                _ => return Err(error.into()),
            },
        }
    }
}
