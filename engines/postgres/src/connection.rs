use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row, Socket, Statement};

use crate::OpenError;
use crate::error::{Effect, Fault};

/// The minimum server version, which introduced `xid8` and `pg_current_snapshot`.
const OLDEST: u32 = 13;

/// The maximum number of prepared statements of a connection. The engine itself has few; the rest belong to
/// applications.
const PREPARED: usize = 256;

/// How much longer than the server the client waits for a statement.
const GRACE: Duration = Duration::from_secs(1);

/// The parameters of a statement.
pub(crate) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The settings shared by all connections.
pub(crate) struct Connector {
    pub(crate) config: Config,
    /// Connection tasks run on this runtime, whichever runtime an operation is called on.
    pub(crate) runtime: Handle,
    pub(crate) connect_timeout: Duration,
    pub(crate) timeout: Duration,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<crate::tls::Tls>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the configuration, which may contain a password.
        f.debug_struct("Connector").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl Connector {
    /// Connects, then checks and configures the session.
    pub(crate) async fn connect(self: &Arc<Self>, purpose: Purpose) -> Result<Connection, OpenError> {
        let connector = self.clone();
        let connecting = self.runtime.spawn(async move {
            let limit = connector.connect_timeout;
            match tokio::time::timeout(limit, connector.connect_here(purpose)).await {
                Ok(result) => result,
                Err(_) => Err(OpenError::TimedOut(limit)),
            }
        });
        connecting.await.map_err(|_| OpenError::NoRuntime)?
    }

    async fn connect_here(&self, purpose: Purpose) -> Result<Connection, OpenError> {
        #[cfg(feature = "tls")]
        if let Some(tls) = self.tls.clone() {
            return self.connect_by(tls, purpose).await;
        }
        self.connect_by(NoTls, purpose).await
    }

    async fn connect_by<T>(&self, tls: T, purpose: Purpose) -> Result<Connection, OpenError>
    where
        T: MakeTlsConnect<Socket>,
        T::Stream: Send + 'static,
    {
        let (client, connection) = self.config.connect(tls).await.map_err(OpenError::connecting)?;
        check(connection.parameter("server_version"), connection.parameter("server_encoding"))?;
        // The task ends when the client is dropped, or with an error that the client reports as well.
        let task = tokio::spawn(async move { drop(connection.await) }).abort_handle();
        let connection =
            Connection { client, task, timeout: self.timeout, prepared: HashMap::new(), unsettled: false };
        self.prepare_session(&connection.client, purpose).await?;
        Ok(connection)
    }

    /// Keeps a stricter `synchronous_commit`. The other settings override those of the role or the database.
    async fn prepare_session(&self, client: &Client, purpose: Purpose) -> Result<(), OpenError> {
        let milliseconds = self.timeout.as_millis().clamp(1, i32::MAX as u128);
        let mut settings = format!(
            "SELECT set_config('synchronous_commit',
                CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false);
            SET statement_timeout = {milliseconds};
            SET idle_in_transaction_session_timeout = {milliseconds};
            SET default_transaction_isolation = 'read committed';
            SET default_transaction_read_only = off;
            SET default_transaction_deferrable = off;"
        );
        if purpose == Purpose::Saves {
            // A plan for the current number of rows would scan the whole table for a large batch.
            settings.push_str("SET plan_cache_mode = force_generic_plan; SET jit = off;");
        }
        if purpose == Purpose::Queries {
            settings.push_str("SET default_transaction_read_only = on;");
        }
        client.batch_execute(&settings).await.map_err(OpenError::connecting)?;
        let standby =
            client.query_one("SELECT pg_is_in_recovery()", &[]).await.map_err(OpenError::connecting)?;
        if standby.get(0) {
            return Err(OpenError::NotReady("it is a standby, which cannot be written".into()));
        }
        Ok(())
    }
}

/// The purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Saves,
    /// Read-only queries of the application.
    Queries,
    Other,
}

/// The author of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    Engine,
    Application,
}

fn check(version: Option<&str>, encoding: Option<&str>) -> Result<(), OpenError> {
    let version = version.unwrap_or("unknown");
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    if digits.parse::<u32>().is_ok_and(|major| major < OLDEST) {
        return Err(OpenError::ServerVersion { found: version.to_owned(), oldest: OLDEST });
    }
    match encoding {
        Some("UTF8") | None => Ok(()),
        Some(other) => Err(OpenError::Encoding(other.to_owned())),
    }
}

/// A session of the server.
pub(crate) struct Connection {
    client: Client,
    task: AbortHandle,
    timeout: Duration,
    prepared: HashMap<Box<str>, Statement>,
    /// A response is outstanding.
    unsettled: bool,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("unsettled", &self.unsettled).finish_non_exhaustive()
    }
}

impl Connection {
    /// Whether the connection can be returned to its pool.
    pub(crate) fn is_usable(&self) -> bool {
        !self.unsettled && !self.client.is_closed()
    }

    pub(crate) fn client_mut(&mut self) -> &mut Client {
        &mut self.client
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Marks a response as outstanding or a transaction as open: the connection must not be reused.
    pub(crate) fn unsettle(&mut self) {
        self.unsettled = true;
    }

    /// Marks all responses as received and no transaction as open.
    pub(crate) fn settle(&mut self) {
        self.unsettled = false;
    }

    /// The client's timeout for a response.
    pub(crate) fn patience(&self) -> Duration {
        self.timeout + GRACE
    }

    /// Runs a statement without parameters that returns no rows.
    pub(crate) async fn run(&mut self, sql: &str, effect: Effect) -> Result<(), Fault> {
        match tokio::time::timeout(self.patience(), self.client.batch_execute(sql)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Fault::executing(&error, effect)),
            Err(_) => Err(self.late(effect)),
        }
    }

    /// Prepares a statement, unless it is cached. A failure has changed nothing.
    pub(crate) async fn prepare(&mut self, sql: &str, author: Author) -> Result<Statement, Fault> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let before = std::mem::replace(&mut self.unsettled, true);
        let statement = match tokio::time::timeout(self.patience(), self.client.prepare(sql)).await {
            Ok(Ok(statement)) => statement,
            Ok(Err(error)) => {
                let fault = match author {
                    Author::Engine => Fault::executing(&error, Effect::Read),
                    Author::Application => Fault::application(&error),
                };
                if fault.was_rolled_back() {
                    self.unsettled = before;
                }
                return Err(fault);
            }
            Err(_) => return Err(self.late(Effect::Read)),
        };
        self.unsettled = before;
        if self.prepared.len() >= PREPARED {
            self.prepared.clear();
        }
        self.prepared.insert(sql.into(), statement.clone());
        Ok(statement)
    }

    /// Removes a prepared statement from the cache, because its tables may have changed.
    pub(crate) fn forget(&mut self, sql: &str) {
        self.prepared.remove(sql);
    }

    /// Runs a statement. If the future is dropped before it completes, the connection is not reused.
    pub(crate) async fn query(
        &mut self,
        sql: &str,
        parameters: Parameters<'_>,
        effect: Effect,
    ) -> Result<Vec<Row>, Fault> {
        let statement = self.prepare(sql, Author::Engine).await?;
        self.unsettled = true;
        let answer = tokio::time::timeout(self.patience(), self.client.query(&statement, parameters));
        let Ok(result) = answer.await else { return Err(self.late(effect)) };
        self.unsettled = false;
        result.map_err(|error| self.failed(&error, effect))
    }

    /// Whether a statement returns a row.
    pub(crate) async fn changes(&mut self, sql: &str, parameters: Parameters<'_>) -> Result<bool, Fault> {
        Ok(!self.query(sql, parameters, Effect::Write).await?.is_empty())
    }

    /// Commits the application's transaction. Unless the outcome is unknown, the connection can be reused.
    pub(crate) async fn commit(&mut self) -> Result<(), Fault> {
        let result = match tokio::time::timeout(self.patience(), self.client.batch_execute("COMMIT")).await {
            Ok(result) => result.map_err(|error| Fault::committing(&error)),
            Err(_) => return Err(self.late(Effect::Write)),
        };
        if !result.as_ref().is_err_and(|fault| !fault.was_rolled_back()) {
            self.unsettled = false;
        }
        result
    }

    pub(crate) fn late(&self, effect: Effect) -> Fault {
        Fault::lost(effect, format!("no answer after {:?}", self.patience()))
    }

    fn failed(&mut self, error: &tokio_postgres::Error, effect: Effect) -> Fault {
        let fault = Fault::executing(error, effect);
        match error.code().map(tokio_postgres::error::SqlState::code) {
            // The primary has become a standby: a new connection may reach the new primary.
            Some("25006") => self.unsettled = true,
            // The tables have changed since the statement was prepared.
            Some("0A000" | "26000") => self.prepared.clear(),
            // Lost, even if the socket is still open.
            _ if !fault.was_rolled_back() => self.unsettled = true,
            _ => {}
        }
        fault
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.unsettled {
            // Closes the socket, which the server notices. Dropping the client would wait for the response.
            self.task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_encodings() {
        assert!(check(Some("15.18 (Debian 15.18-0+deb12u1)"), Some("UTF8")).is_ok());
        assert!(check(Some("13.0"), Some("UTF8")).is_ok());
        assert!(check(Some("19beta1"), None).is_ok());
        for old in ["12.22", "9.6.24"] {
            assert!(matches!(check(Some(old), Some("UTF8")), Err(OpenError::ServerVersion { .. })), "{old}");
        }
        assert!(matches!(check(Some("15.1"), Some("SQL_ASCII")), Err(OpenError::Encoding(_))));
    }
}
