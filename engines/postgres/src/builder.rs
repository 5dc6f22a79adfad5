use std::fmt;
use std::time::Duration;

use crate::{OpenError, Postgres};

/// Configures and opens a database.
///
/// ```no_run
/// use std::time::Duration;
/// use dactor_postgres::Postgres;
///
/// # async fn open() -> Result<(), dactor_postgres::OpenError> {
/// let postgres = Postgres::builder("postgres://bank@db.example/bank")
///     .schema("accounts")
///     .connections(16)
///     .timeout(Duration::from_secs(5))
///     .open()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
#[non_exhaustive]
pub struct PostgresBuilder {
    pub(crate) config: String,
    pub(crate) schema: String,
    pub(crate) connections: usize,
    pub(crate) batch: usize,
    pub(crate) timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) largest_state: usize,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<std::sync::Arc<rustls::ClientConfig>>,
}

impl PostgresBuilder {
    pub(crate) fn new(config: &str) -> Self {
        Self {
            config: config.to_owned(),
            schema: "dactor".to_owned(),
            connections: 8,
            batch: 512,
            timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(5),
            largest_state: 16 << 20,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// The schema of the engine's tables; `dactor` by default. It is created if necessary.
    pub fn schema(mut self, name: &str) -> Self {
        name.clone_into(&mut self.schema);
        self
    }

    /// The maximum number of connections for claims, opens, reads and the application's SQL; 8 by default, at
    /// least 1. Saves, leases and watches use one more connection each.
    pub fn connections(mut self, most: usize) -> Self {
        self.connections = most.max(1);
        self
    }

    /// The maximum number of saves in one statement, at least 1; 512 by default. With 1, each save is a
    /// statement of its own.
    pub fn batch(mut self, most: usize) -> Self {
        self.batch = most.max(1);
        self
    }

    /// The statement timeout, at most an hour; 5 s by default. It should be below the TTL of the leases.
    ///
    /// The server cancels a statement after this time (`statement_timeout`) without any change. A second
    /// later the client gives up, and the outcome of a write is unknown.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        // Tombstones are kept for an hour, because of claims in flight.
        self.timeout = timeout.clamp(Duration::from_millis(1), Duration::from_secs(600));
        self
    }

    /// The connect timeout; 5 s by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// The maximum size of a state in bytes; 16 MiB by default.
    pub fn largest_state(mut self, bytes: usize) -> Self {
        self.largest_state = bytes;
        self
    }

    /// Encrypts all connections, and verifies the certificate of the server with this configuration. A server
    /// without TLS is refused, regardless of `sslmode` in the connection string.
    ///
    /// [`trusted_roots`](crate::trusted_roots) makes a configuration from certificates.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, config: std::sync::Arc<rustls::ClientConfig>) -> Self {
        self.tls = Some(config);
        self
    }

    /// Connects, and creates or migrates the tables if necessary.
    pub async fn open(self) -> Result<Postgres, OpenError> {
        Postgres::start(self).await
    }
}

impl fmt::Debug for PostgresBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the connection string, which may contain a password.
        f.debug_struct("PostgresBuilder").field("schema", &self.schema).finish_non_exhaustive()
    }
}
