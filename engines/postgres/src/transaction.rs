//! Saves with statements of the application.
//!
//! Several saves share a transaction: all statements are pipelined, and the commit is sent after all
//! responses are as expected. Otherwise the transaction is rolled back, and each save gets its own
//! transaction.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use dactor_engine::{EntityId, ErrorKind, Statement};
use tokio_postgres::types::ToSql;

use crate::connection::{Author, Connection};
use crate::error::{Effect, Fault};
use crate::queue::Entry;
use crate::saver::Save;
use crate::sql::{Argument, arguments, check_statement, failed};
use crate::statements::{APPLICATION, Statements};
use crate::values::{Uuid, etag, generation, int8};

/// The lock timeout of a shared transaction, after which each save gets its own: a row locked by another
/// session must not delay all of them.
const SHARED_LOCK_TIMEOUT: &str = "SELECT set_config('lock_timeout', '100ms', true)";

/// A save with its statements.
#[derive(Debug, Clone)]
pub(crate) struct SaveWith {
    pub(crate) save: Save,
    pub(crate) also: Arc<[Statement]>,
}

impl Entry for SaveWith {
    fn id(&self) -> &EntityId {
        &self.save.id
    }

    fn length(&self) -> usize {
        self.save.length()
    }
}

/// Why a transaction was not committed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// One save was refused or one of its statements failed, and the transaction was rolled back.
    Of,
    /// The connection failed, or the outcome of the commit is unknown.
    All(Fault),
}

/// Rejects invalid statements before anything is sent.
pub(crate) fn check(also: &[Statement]) -> Result<(), Fault> {
    for (index, statement) in also.iter().enumerate() {
        check_statement(&statement.sql).map_err(|fault| fault.in_statement(failed(index, statement)))?;
    }
    Ok(())
}

/// A prepared statement with its parameters.
struct Step<'a> {
    prepared: tokio_postgres::Statement,
    arguments: Vec<Argument<'a>>,
    expected: Option<u64>,
}

/// Saves in one transaction. The entities must be distinct.
pub(crate) async fn save_together(
    connection: &mut Connection,
    statements: &Statements,
    batch: &[SaveWith],
) -> Result<(), Failure> {
    let save = connection.prepare(&statements.save, Author::Engine).await.map_err(Failure::All)?;
    let mut steps = Vec::new();
    for statement in batch.iter().flat_map(|item| item.also.iter()) {
        let prepared = connection.prepare(&statement.sql, Author::Application).await.map_err(of_answer)?;
        let arguments = arguments(&prepared, &statement.args).map_err(of_answer)?;
        steps.push(Step { prepared, arguments, expected: statement.expect_rows });
    }
    connection.unsettle();
    let limit = connection.patience();
    let sent = tokio::time::timeout(limit, send(connection, &save, batch, &steps)).await;
    let failure = match sent {
        Ok(Ok(())) => None,
        Ok(Err(failure)) => Some(failure),
        Err(_) => Some(Failure::All(connection.late(Effect::Read))),
    };
    if let Some(failure) = failure {
        for statement in batch.iter().flat_map(|item| item.also.iter()) {
            connection.forget(&statement.sql);
        }
        roll_back(connection).await;
        return Err(failure);
    }
    // A deferred constraint of one save may fail at the commit.
    connection.commit().await.map_err(of_answer)
}

/// Rolls back the transaction. If that fails, the connection is not reused.
pub(crate) async fn roll_back(connection: &mut Connection) {
    if connection.run("ROLLBACK", Effect::Read).await.is_ok() {
        connection.settle();
    }
}

/// Pipelines all statements before the commit, and checks the responses in order.
async fn send(
    connection: &Connection,
    save: &tokio_postgres::Statement,
    batch: &[SaveWith],
    steps: &[Step<'_>],
) -> Result<(), Failure> {
    let client = connection.client();
    let begin = if batch.len() > 1 { format!("BEGIN; {SHARED_LOCK_TIMEOUT}") } else { "BEGIN".to_owned() };
    let parameters: Vec<SaveParameters<'_>> =
        batch.iter().map(|item| SaveParameters::new(&item.save)).collect();
    let slices: Vec<[&(dyn ToSql + Sync); 7]> = parameters.iter().map(SaveParameters::slice).collect();
    let arguments: Vec<Vec<&(dyn ToSql + Sync)>> = steps
        .iter()
        .map(|step| step.arguments.iter().map(|argument| argument as &(dyn ToSql + Sync)).collect())
        .collect();
    let begun = client.batch_execute(&begin);
    let saves = slices.iter().map(|slice| client.execute(save, slice));
    let guard = client.batch_execute(APPLICATION);
    let also =
        steps.iter().zip(&arguments).map(|(step, arguments)| client.execute(&step.prepared, arguments));
    let mut begun = Sent::new(begun);
    let mut saves: Vec<_> = saves.map(Sent::new).collect();
    let mut guard = Sent::new(guard);
    let mut also: Vec<_> = also.map(Sent::new).collect();
    // A request is sent when it is first polled.
    begun.send().await;
    for save in &mut saves {
        save.send().await;
    }
    guard.send().await;
    for statement in &mut also {
        statement.send().await;
    }
    let failed = |error| of_answer(Fault::executing(&error, Effect::Read));
    begun.answer().await.map_err(failed)?;
    for save in saves {
        if save.answer().await.map_err(failed)? != 1 {
            return Err(Failure::Of);
        }
    }
    guard.answer().await.map_err(failed)?;
    for (step, statement) in steps.iter().zip(also) {
        let rows = statement.answer().await.map_err(|error| of_answer(Fault::application(&error)))?;
        if step.expected.is_some_and(|expected| expected != rows) {
            return Err(Failure::Of);
        }
    }
    Ok(())
}

/// The failure of one save if the server responded, otherwise of all.
fn of_answer(fault: Fault) -> Failure {
    if fault.was_rolled_back() || fault.kind() == ErrorKind::Statement {
        Failure::Of
    } else {
        Failure::All(fault)
    }
}

fn check_rows(expected: Option<u64>, rows: u64, index: usize, statement: &Statement) -> Result<(), Fault> {
    match expected {
        Some(expected) if expected != rows => {
            let text = format!("{rows} instead of {expected}");
            Err(Fault::new(ErrorKind::RowCount, text).in_statement(failed(index, statement).rows(rows)))
        }
        _ => Ok(()),
    }
}

/// A sent request, whose response may already have arrived.
struct Sent<F: Future> {
    request: Pin<Box<F>>,
    answer: Option<F::Output>,
}

impl<F: Future> Sent<F> {
    fn new(request: F) -> Self {
        Self { request: Box::pin(request), answer: None }
    }

    async fn send(&mut self) {
        poll_fn(|context| {
            if let Poll::Ready(answer) = self.request.as_mut().poll(context) {
                self.answer = Some(answer);
            }
            Poll::Ready(())
        })
        .await;
    }

    async fn answer(self) -> F::Output {
        match self.answer {
            Some(answer) => answer,
            None => self.request.await,
        }
    }
}

/// The parameters of a save statement.
struct SaveParameters<'a> {
    key: [&'a str; 3],
    fence: i64,
    read: Option<Uuid>,
    new: Uuid,
    body: Option<&'a [u8]>,
}

impl<'a> SaveParameters<'a> {
    fn new(save: &'a Save) -> Self {
        Self {
            key: [save.id.namespace(), save.id.actor_type(), save.id.key()],
            fence: int8(save.generation.get()),
            read: save.read.map(Uuid::from),
            new: save.new.into(),
            body: save.body.as_deref(),
        }
    }

    fn slice(&self) -> [&(dyn ToSql + Sync); 7] {
        let [namespace, actor_type, key] = &self.key;
        [namespace, actor_type, key, &self.fence, &self.read, &self.new, &self.body]
    }
}

/// Saves in a separate transaction, one statement at a time: a statement can use a table created by the
/// previous one.
pub(crate) async fn save_alone(
    connection: &mut Connection,
    statements: &Statements,
    item: &SaveWith,
) -> Result<(), Fault> {
    connection.unsettle();
    let result = in_transaction(connection, statements, item).await;
    if result.is_err() {
        item.also.iter().for_each(|statement| connection.forget(&statement.sql));
        roll_back(connection).await;
        return result;
    }
    connection.commit().await
}

async fn in_transaction(
    connection: &mut Connection,
    statements: &Statements,
    item: &SaveWith,
) -> Result<(), Fault> {
    connection.run("BEGIN", Effect::Read).await?;
    let parameters = SaveParameters::new(&item.save);
    let slice = parameters.slice();
    let prepared = connection.prepare(&statements.save, Author::Engine).await?;
    if execute(connection, &prepared, &slice).await.map_err(|error| error.of_engine())? != 1 {
        let prepared = connection.prepare(&statements.fence, Author::Engine).await?;
        let rows = connection.client().query(&prepared, &slice[..3]).await;
        let rows = rows.map_err(|error| Fault::executing(&error, Effect::Read))?;
        let row = match rows.first() {
            Some(row) => Some((generation(row, 0)?, etag(row, 1)?)),
            None => None,
        };
        let changed = || Fault::new(ErrorKind::Unavailable, "the row changed in the meantime");
        return Err(item.save.refusal(row.as_ref()).unwrap_or_else(changed));
    }
    connection.run(APPLICATION, Effect::Read).await?;
    for (index, statement) in item.also.iter().enumerate() {
        let of_statement = |fault: Fault| fault.in_statement(failed(index, statement));
        let prepared = connection.prepare(&statement.sql, Author::Application).await.map_err(of_statement)?;
        let arguments = arguments(&prepared, &statement.args).map_err(of_statement)?;
        let arguments: Vec<_> = arguments.iter().map(|argument| argument as &(dyn ToSql + Sync)).collect();
        let rows = execute(connection, &prepared, &arguments).await;
        let rows = rows.map_err(|error| of_statement(error.of_application()))?;
        check_rows(statement.expect_rows, rows, index, statement)?;
    }
    Ok(())
}

/// Why a statement in a transaction failed. Nothing is committed.
pub(crate) enum ExecuteError {
    Server(tokio_postgres::Error),
    Late(Fault),
}

impl ExecuteError {
    pub(crate) fn of_engine(self) -> Fault {
        match self {
            Self::Server(error) => Fault::executing(&error, Effect::Read),
            Self::Late(fault) => fault,
        }
    }

    pub(crate) fn of_application(self) -> Fault {
        match self {
            Self::Server(error) => Fault::application(&error),
            Self::Late(fault) => fault,
        }
    }
}

pub(crate) async fn execute(
    connection: &Connection,
    statement: &tokio_postgres::Statement,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<u64, ExecuteError> {
    match tokio::time::timeout(connection.patience(), connection.client().execute(statement, parameters))
        .await
    {
        Ok(Ok(rows)) => Ok(rows),
        Ok(Err(error)) => Err(ExecuteError::Server(error)),
        Err(_) => Err(ExecuteError::Late(connection.late(Effect::Read))),
    }
}
