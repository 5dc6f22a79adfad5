//! The writer thread for states, with group commit.

use std::thread;
use std::time::Duration;

use dactor_engine::{ErrorKind, StorageError};
use rusqlite::{Connection, ErrorCode};
use tokio::sync::{mpsc, oneshot};

use crate::connection::{connect_reader, connect_writer};
use crate::error::Fault;
use crate::files::{Files, Gate};
use crate::requests::{Reply, Request};
use crate::worker::{answer_within, stopped};

/// The capacity of the writer's queue, in requests.
const QUEUE: usize = 4096;

/// The configuration of the writer thread.
#[derive(Debug)]
pub(crate) struct WriterConfig {
    pub(crate) files: Files,
    pub(crate) gate: Gate,
    pub(crate) batch: usize,
    pub(crate) busy_limit: Duration,
    pub(crate) max_pages: Option<u32>,
    pub(crate) timeout: Duration,
}

/// The sending side of the writer.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Item>,
    timeout: Duration,
}

#[derive(Debug)]
struct Item {
    request: Request,
    answer: oneshot::Sender<Result<Reply, Fault>>,
}

impl Writer {
    pub(crate) fn start(config: WriterConfig) -> Result<Self, StartError> {
        let (sender, queue) = mpsc::channel(QUEUE);
        let timeout = config.timeout;
        let connections = Connections::open(&config).map_err(StartError::Sqlite)?;
        let thread = WriterThread { config, queue, connections: Some(connections) };
        let builder = thread::Builder::new().name("dactor-sqlite-writer".into());
        builder.spawn(move || thread.run()).map_err(StartError::Thread)?;
        Ok(Self { queue: sender, timeout })
    }

    /// Sends a request and waits for its commit.
    pub(crate) async fn run(
        &self,
        request: Request,
        id: &impl std::fmt::Display,
    ) -> Result<Reply, StorageError> {
        let operation = request.operation();
        let (answer, answered) = oneshot::channel();
        let result = match self.queue.send(Item { request, answer }).await {
            Ok(()) => answer_within(self.timeout, answered, ErrorKind::UnknownOutcome)
                .await
                .and_then(|answer| answer),
            Err(_) => Err(stopped()),
        };
        result.map_err(|fault| fault.on(operation, id))
    }
}

/// Why the writer could not start.
pub(crate) enum StartError {
    Sqlite(rusqlite::Error),
    Thread(std::io::Error),
}

/// The connections of the writer: one to write the states, one to read tombstones.
struct Connections {
    state: Connection,
    leases: Connection,
}

impl Connections {
    fn open(config: &WriterConfig) -> rusqlite::Result<Self> {
        Ok(Self {
            state: connect_writer(&config.files.state, config.busy_limit, config.max_pages)?,
            leases: connect_reader(&config.files.lease, config.busy_limit)?,
        })
    }
}

struct WriterThread {
    config: WriterConfig,
    queue: mpsc::Receiver<Item>,
    /// `None` after a failed commit, until the next transaction.
    connections: Option<Connections>,
}

/// Why a transaction failed.
enum Failure {
    /// The transaction could not begin.
    NotBegun(Fault),
    /// A statement failed, and the transaction was rolled back without a change.
    RolledBack(Fault),
    /// The commit failed: its outcome is unknown.
    Unknown(Fault),
}

impl WriterThread {
    fn run(mut self) {
        while let Some(first) = self.queue.blocking_recv() {
            // Does not wait for more: requests were gathered while the last commit was running.
            let mut batch = Vec::with_capacity(self.queue.len().min(self.config.batch) + 1);
            batch.push(first);
            while batch.len() < self.config.batch {
                match self.queue.try_recv() {
                    Ok(item) => batch.push(item),
                    Err(_) => break,
                }
            }
            // The callers have given up.
            batch.retain(|item| !item.answer.is_closed());
            if !batch.is_empty() {
                self.commit(batch);
            }
        }
    }

    /// Commits the requests together, or one by one if that fails, and replies.
    fn commit(&mut self, batch: Vec<Item>) {
        match self.transaction(&batch) {
            Ok(replies) => {
                for (item, reply) in batch.into_iter().zip(replies) {
                    reply_to(item, reply);
                }
            }
            Err(Failure::RolledBack(_)) if batch.len() > 1 => {
                for item in batch {
                    self.commit(vec![item]);
                }
            }
            Err(Failure::NotBegun(fault) | Failure::RolledBack(fault)) => {
                batch.into_iter().for_each(|item| reply_to(item, Err(fault.clone())));
            }
            Err(Failure::Unknown(fault)) => {
                self.connections = None;
                let fault = fault.into_unknown();
                batch.into_iter().for_each(|item| reply_to(item, Err(fault.clone())));
            }
        }
    }

    fn transaction(&mut self, batch: &[Item]) -> Result<Vec<Result<Reply, Fault>>, Failure> {
        if self.connections.is_none() {
            let connections = Connections::open(&self.config);
            self.connections = Some(connections.map_err(|error| Failure::NotBegun(error.into()))?);
        }
        let Some(connections) = &self.connections else { return Err(Failure::NotBegun(stopped())) };
        let gate = self.config.gate.enter();
        let _gate = gate.map_err(|error| {
            Failure::NotBegun(Fault::new(
                ErrorKind::Unavailable,
                format!("the gate cannot be locked: {error}"),
            ))
        })?;
        let state = &connections.state;
        let run = |sql| state.prepare_cached(sql).and_then(|mut statement| statement.execute(()));
        run("BEGIN IMMEDIATE").map_err(|error| Failure::NotBegun(error.into()))?;
        let mut replies = Vec::with_capacity(batch.len());
        for item in batch {
            match item.request.execute(state, &connections.leases) {
                Ok(reply) => replies.push(reply),
                // The statement had no effect, and the transaction continues.
                Err(error) if concerns_only_its_request(&error) && !state.is_autocommit() => {
                    replies.push(Err(error.into()));
                }
                // No statement may follow: SQLite may have rolled back, and each further statement would be a
                // transaction of its own.
                Err(error) => {
                    if !state.is_autocommit() && run("ROLLBACK").is_err() {
                        self.connections = None;
                    }
                    return Err(Failure::RolledBack(error.into()));
                }
            }
        }
        match run("COMMIT") {
            Ok(_) => Ok(replies),
            // The lock was not acquired, and nothing was written.
            Err(error) if is_busy(&error) && !state.is_autocommit() && run("ROLLBACK").is_ok() => {
                Err(Failure::NotBegun(error.into()))
            }
            // The commit is the last frame of a transaction: a WAL that could not grow does not contain it.
            Err(error) if is_full(&error) && (state.is_autocommit() || run("ROLLBACK").is_ok()) => {
                // After a checkpoint the WAL restarts from its beginning. The checkpoint may fail for lack of
                // space as well.
                let _ = state.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()));
                Err(Failure::RolledBack(error.into()))
            }
            Err(error) => Err(Failure::Unknown(error.into())),
        }
    }
}

fn reply_to(item: Item, reply: Result<Reply, Fault>) {
    // Fails if the caller has given up.
    let _ = item.answer.send(reply);
}

fn concerns_only_its_request(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), None | Some(ErrorCode::TooBig | ErrorCode::ConstraintViolation))
}

fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}
