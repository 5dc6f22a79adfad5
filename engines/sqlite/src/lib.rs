//! A storage engine for dactor's virtual actors on SQLite, for the processes of one machine.
//!
//! [`Sqlite::open`] opens a directory, and creates it if necessary. Several processes may open the same one.
//!
//! ```
//! use std::time::Duration;
//! use dactor_engine::{Claim, ClaimToken, Engine, EntityId, Etag, NodeId};
//! use dactor_sqlite::Sqlite;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = std::env::temp_dir().join(format!("dactor-sqlite-doc-{}", std::process::id()));
//! let engine = Engine::from(Sqlite::open(&directory)?);
//!
//! let node = NodeId::start("localhost:4000");
//! engine.membership.join("bank", &node, Duration::from_secs(10)).await?;
//!
//! let (alice, token) = (EntityId::new("bank", "Account", "alice")?, ClaimToken::random());
//! let Claim::Granted(generation) = engine.directory.claim(&alice, &node, token).await? else { panic!() };
//! let opened = engine.state.open(&alice, generation, token).await?;
//! // Durable when it returns.
//! engine.state.save(&alice, generation, opened.etag, Etag::random(), "100 cents".into()).await?;
//! # drop(engine);
//! # std::fs::remove_dir_all(directory)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Design
//!
//! - `state.db` contains the directory and the states: WAL, `synchronous=FULL`. A writer thread commits all
//!   queued requests, up to 256, in one transaction, without waiting for more, and replies after the commit
//!   (group commit). A refused request does not affect the others. A failed transaction is retried request by
//!   request.
//! - `lease.db` contains the members, so that saves do not delay renewals. Renewals are not synced, because a
//!   reboot ends all leases. Joins and deaths are synced.
//! - `gate` is locked around each write transaction and admits waiting processes in FIFO order. SQLite's own
//!   locks, which are taken as well, are not fair.
//! - Lease times are on the boot clock, which includes suspended time. A lease from before a reboot is
//!   [`Gone`](dactor_engine::MemberState::Gone), and so is a lease whose process has ended: a process holds a
//!   lock on a file in `alive` for each of its nodes.
//!
//! # SQL of the application
//!
//! Tables of the application are in `state.db` too: [`FencedSql`](dactor_engine::FencedSql). A save with
//! statements runs in a savepoint inside the group commit. The statements cannot end the transaction, and
//! cannot use `PRAGMA`, `ATTACH`, temporary or virtual tables, or change the tables `directory`, `state` and
//! `pair`.
//!
//! A network file system is refused: neither WAL nor these locks work there. All processes must be in the
//! same time namespace.
//!
//! Operations need a tokio runtime with its timer enabled. An operation that takes longer than
//! [`SqliteBuilder::timeout`] fails, a write with
//! [`UnknownOutcome`](dactor_engine::ErrorKind::UnknownOutcome).

mod alive;
mod builder;
mod connection;
mod engine;
mod error;
mod files;
mod lease;
mod machine;
mod reader;
mod requests;
mod schema;
mod sql;
mod store;
mod watcher;
mod worker;
mod writer;

pub use builder::SqliteBuilder;
pub use engine::{Settings, Sqlite};
pub use error::OpenError;
