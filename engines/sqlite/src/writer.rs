//! The thread that writes the states: group commit.

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

/// Requests that wait for the writer before their senders wait.
const QUEUE: usize = 4096;

/// What the writer's thread needs.
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

/// Why the writer did not start.
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

/// Why a transaction has no result.
enum Failure {
    /// It could not begin.
    NotBegun(Fault),
    /// A statement failed, and the transaction was rolled back: nothing was changed.
    RolledBack(Fault),
    /// The commit failed: it may have reached the disk.
    Unknown(Fault),
}

impl WriterThread {
    fn run(mut self) {
        while let Some(first) = self.queue.blocking_recv() {
            // No delay: the commit in progress was the time to gather requests.
            let mut batch = Vec::with_capacity(self.queue.len().min(self.config.batch) + 1);
            batch.push(first);
            while batch.len() < self.config.batch {
                match self.queue.try_recv() {
                    Ok(item) => batch.push(item),
                    Err(_) => break,
                }
            }
            // Their callers have given up.
            batch.retain(|item| !item.answer.is_closed());
            if !batch.is_empty() {
                self.commit(batch);
            }
        }
    }

    /// Commits the requests together, or one by one if that fails, and answers them.
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
                // The statement had no effect, and the transaction goes on.
                Err(error) if concerns_only_its_request(&error) && !state.is_autocommit() => {
                    replies.push(Err(error.into()));
                }
                // Nothing may follow: SQLite may have rolled back, and then every statement is a transaction.
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
            // The lock was not granted, and nothing was written.
            Err(error) if is_busy(&error) && !state.is_autocommit() && run("ROLLBACK").is_ok() => {
                Err(Failure::NotBegun(error.into()))
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

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}
