use std::fmt;
use std::time::{Duration, Instant};

use dactor_engine::{EntityId, ErrorKind, Generation, Operation, Row, StorageError, Value};
use tokio_postgres::types::ToSql;

use crate::Postgres;
use crate::connection::Author;
use crate::error::{Effect, Fault};
use crate::pool::Pooled;
use crate::sql::{arguments, check_statement, rows};
use crate::statements::APPLICATION;
use crate::transaction::{execute, roll_back};
use crate::values::int8;

impl Postgres {
    /// Begins a transaction of the application that commits only while this generation owns the entity.
    ///
    /// The transaction locks the fence of the entity (`FOR SHARE`): until it ends, no other activation can
    /// open the state. The server aborts it when the application is idle or a statement runs for longer than
    /// the [timeout](crate::PostgresBuilder::timeout), which also limits the whole transaction. So a paused
    /// process delays a takeover but does not prevent it.
    ///
    /// It occupies one of the [connections](crate::PostgresBuilder::connections) until it ends. Do not save
    /// the state of the same entity before that: the save would wait for the lock. For statements that are
    /// known in advance, [`save_with`](dactor_engine::FencedSql::save_with) is faster, and its outcome is
    /// never left unknown.
    ///
    /// ```no_run
    /// # use dactor_engine::{EntityId, Generation, StorageError};
    /// # use dactor_postgres::Postgres;
    /// # async fn example(postgres: Postgres, id: EntityId, generation: Generation) -> Result<(), StorageError> {
    /// let mut transaction = postgres.under_fence(&id, generation).await?;
    /// let next = transaction.query("SELECT max(seq) + 1 AS seq FROM messages", &[]).await?;
    /// let seq = next[0].get("seq").clone();
    /// transaction.execute("INSERT INTO messages (seq, text) VALUES ($1, $2)", &[seq, "hello".into()]).await?;
    /// transaction.commit().await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Fenced`](ErrorKind::Fenced) if another generation has opened the state,
    /// [`NotFound`](ErrorKind::NotFound) if it was never opened.
    pub async fn under_fence(
        &self,
        id: &EntityId,
        generation: Generation,
    ) -> Result<FencedTransaction<'_>, StorageError> {
        self.begin(id, generation).await.map_err(|fault| fault.on(Operation::Transaction, id))
    }

    async fn begin(&self, id: &EntityId, generation: Generation) -> Result<FencedTransaction<'_>, Fault> {
        let (pool, statements, limit) = self.for_transactions();
        let mut connection = pool.get().await?;
        let share = connection.prepare(&statements.share, Author::Engine).await?;
        let deadline = Instant::now() + limit;
        connection.unsettle();
        connection.run("BEGIN", Effect::Read).await?;
        let (key, fence) = ([id.namespace(), id.actor_type(), id.key()], int8(generation.get()));
        let parameters: [&(dyn ToSql + Sync); 4] = [&key[0], &key[1], &key[2], &fence];
        let shared = execute(&connection, &share, &parameters).await.map_err(|error| error.of_engine())?;
        if shared == 0 {
            roll_back(&mut connection).await;
            let rows = connection.query(&statements.fence, &parameters[..3], Effect::Read).await?;
            return Err(match rows.first() {
                None => ErrorKind::NotFound.into(),
                Some(row) => {
                    let fence = crate::values::generation(row, 0)?;
                    Fault::new(ErrorKind::Fenced, format!("the fence is {fence}, and not {generation}"))
                }
            });
        }
        connection.run(APPLICATION, Effect::Read).await?;
        Ok(FencedTransaction { connection, id: id.clone(), deadline, limit })
    }
}

/// A transaction of the application under the fence of an entity: see [`Postgres::under_fence`].
///
/// Dropping it rolls it back.
#[must_use]
pub struct FencedTransaction<'a> {
    connection: Pooled<'a>,
    id: EntityId,
    deadline: Instant,
    limit: Duration,
}

impl FencedTransaction<'_> {
    /// Runs a statement with the parameters `$1` to `$n`, and returns the number of rows that it changed.
    ///
    /// After an error, every further statement fails.
    pub async fn execute(&mut self, sql: &str, args: &[Value]) -> Result<u64, StorageError> {
        let result = self.try_execute(sql, args).await;
        result.map_err(|fault| fault.on(Operation::Transaction, &self.id))
    }

    /// Runs a statement with the parameters `$1` to `$n`, and returns its rows.
    pub async fn query(&mut self, sql: &str, args: &[Value]) -> Result<Vec<Row>, StorageError> {
        let result = self.try_query(sql, args).await;
        result.map_err(|fault| fault.on(Operation::Transaction, &self.id))
    }

    /// Commits. After [`UnknownOutcome`](ErrorKind::UnknownOutcome) only the tables of the application tell
    /// whether the transaction was committed.
    pub async fn commit(mut self) -> Result<(), StorageError> {
        let result = self.try_commit().await;
        result.map_err(|fault| fault.on(Operation::Transaction, &self.id))
    }

    /// Rolls back.
    pub async fn rollback(mut self) {
        roll_back(&mut self.connection).await;
    }

    fn check_time(&self) -> Result<(), Fault> {
        if Instant::now() < self.deadline {
            return Ok(());
        }
        let text = format!("the transaction takes longer than {:?}", self.limit);
        Err(Fault::new(ErrorKind::Unavailable, text))
    }

    async fn try_execute(&mut self, sql: &str, args: &[Value]) -> Result<u64, Fault> {
        self.check_time()?;
        check_statement(sql)?;
        let prepared = self.connection.prepare(sql, Author::Application).await?;
        let arguments = arguments(&prepared, args)?;
        let arguments: Vec<_> = arguments.iter().map(|argument| argument as &(dyn ToSql + Sync)).collect();
        let rows = execute(&self.connection, &prepared, &arguments).await;
        rows.map_err(|error| self.failed(sql, error.of_application()))
    }

    async fn try_query(&mut self, sql: &str, args: &[Value]) -> Result<Vec<Row>, Fault> {
        self.check_time()?;
        check_statement(sql)?;
        let prepared = self.connection.prepare(sql, Author::Application).await?;
        let arguments = arguments(&prepared, args)?;
        let arguments: Vec<_> = arguments.iter().map(|argument| argument as &(dyn ToSql + Sync)).collect();
        let answer = self.connection.client().query(&prepared, &arguments);
        match tokio::time::timeout(self.connection.patience(), answer).await {
            Ok(Ok(found)) => rows(prepared.columns(), &found),
            Ok(Err(error)) => Err(self.failed(sql, Fault::application(&error))),
            Err(_) => Err(self.connection.late(Effect::Read)),
        }
    }

    fn failed(&mut self, sql: &str, fault: Fault) -> Fault {
        self.connection.forget(sql);
        fault
    }

    async fn try_commit(&mut self) -> Result<(), Fault> {
        if let Err(late) = self.check_time() {
            roll_back(&mut self.connection).await;
            return Err(late);
        }
        // `COMMIT` would roll back a failed transaction without an error.
        let alive = self.connection.run("SELECT", Effect::Read).await;
        if let Err(fault) = alive {
            roll_back(&mut self.connection).await;
            return Err(fault);
        }
        self.connection.commit().await
    }
}

impl fmt::Debug for FencedTransaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FencedTransaction").field("id", &self.id).finish_non_exhaustive()
    }
}
