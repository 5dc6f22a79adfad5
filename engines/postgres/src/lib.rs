//! A storage engine for dactor's virtual actors on PostgreSQL, for processes on any number of machines.
//!
//! ```no_run
//! use std::time::Duration;
//! use dactor_engine::{Claim, ClaimToken, Engine, EntityId, Etag, NodeId};
//! use dactor_postgres::Postgres;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = Engine::from(Postgres::open("postgres://bank@localhost/bank").await?);
//!
//! let node = NodeId::start("10.0.0.1:4000");
//! engine.membership.join("bank", &node, Duration::from_secs(10)).await?;
//!
//! let (alice, token) = (EntityId::new("bank", "Account", "alice")?, ClaimToken::random());
//! let Claim::Granted(generation) = engine.directory.claim(&alice, &node, token).await? else { panic!() };
//! let opened = engine.state.open(&alice, generation, token).await?;
//! // Durable when it returns.
//! engine.state.save(&alice, generation, opened.etag, Etag::random(), "100 cents".into()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Design
//!
//! - The tables `members`, `directory` and `state` are in a separate schema, `dactor` by default.
//! - Each claim, open, renewal and eviction is one statement, which decides under the lock of the row that it
//!   changes. A death is recorded in the row that renewals update. A claim increments the generation of its
//!   row.
//! - Saves have a dedicated connection. All queued saves, up to 512, are written by one statement (`unnest`),
//!   without waiting for more. A refused save does not affect the others. A single save is a plain `UPDATE`.
//! - Renewals have a dedicated connection, so that saves do not delay them. Lease times are on the clock of
//!   the server.
//! - Watches poll for changes by transaction id, 20 times per second, while a watch is open.
//! - A lost connection is replaced by the next operation. An unreachable or restarting server, or one without
//!   free connections or disk space, is a [transient](dactor_engine::StorageError::is_transient) error.
//!
//! # SQL of the application
//!
//! [`save_with`](dactor_engine::FencedSql::save_with) commits statements of the application with a save.
//! Several such saves share a transaction, whose statements are pipelined; if one of them is refused, fails,
//! or waits for a lock for 100 ms, each save gets its own transaction. An argument is sent as the type of its
//! parameter: text can be a `uuid`, a `timestamptz` or a `jsonb`. [`Postgres::under_fence`] is a transaction
//! for statements that depend on each other. Neither can write the tables of the engine, end the transaction,
//! or change the session. Unqualified table names are resolved by the `search_path` of the role, the
//! database, or the connection string (`?options=-csearch_path%3Dname`).
//!
//! # Server requirements
//!
//! PostgreSQL 13 or newer, with a UTF-8 database. The engine sets `synchronous_commit = on` for its sessions,
//! unless it is `remote_apply`, so that a save is on the disk of the server when it returns.
//!
//! **A failover to an asynchronous standby loses acknowledged writes**, and with them generations and fences: an old owner
//! could write again. Use synchronous replication (`synchronous_standby_names`), or keep all nodes stopped until the new
//! primary is known to have everything.
//!
//! A connection pooler must use session pooling (`pool_mode = session` of PgBouncer), because of prepared
//! statements.
//!
//! Connections are not encrypted, unless the feature `tls` is enabled and `PostgresBuilder::tls` is called.
//! Without it, a connection string with `sslmode=require` is refused.
//!
//! Operations need a tokio runtime with its timer enabled. Connection tasks run on the runtime on which the
//! database was opened.

mod builder;
mod connection;
mod directory;
mod engine;
mod error;
mod fenced;
mod lease;
mod pool;
mod queue;
mod saver;
mod schema;
mod sql;
mod sql_saver;
mod state;
mod statements;
#[cfg(feature = "tls")]
mod tls;
mod transaction;
mod values;
mod watcher;

pub use builder::PostgresBuilder;
pub use engine::{Postgres, Settings};
pub use error::OpenError;
pub use fenced::FencedTransaction;
#[cfg(feature = "tls")]
pub use rustls;
#[cfg(feature = "tls")]
pub use tls::trusted_roots;
