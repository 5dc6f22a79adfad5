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
//! # How it works
//!
//! - The tables are in a schema of their own, `dactor` by default: `members`, `directory` and `state`.
//! - A claim, an open, a renewal, an eviction is one statement, which decides under the lock of the row that it changes. A
//!   death is a recorded fact on the row that renewals update. The generation is the row's own plus one.
//! - Saves have a connection of their own. All saves that have arrived go into one statement (`unnest`), up to 512, without
//!   waiting for more. A save that is refused does not affect the others. A lone save is a plain `UPDATE`.
//! - Renewals have another connection, so that no save delays them. Lease times are on the clock of the server.
//! - Watches look for changes by transaction ids, 20 times in a second, while there is a watch.
//! - Lost connections are replaced when the next operation needs them. A server that is away, restarts, has no connection
//!   or no disk space left is an error that is [transient](dactor_engine::StorageError::is_transient).
//!
//! # SQL of the application
//!
//! [`save_with`](dactor_engine::FencedSql::save_with) commits statements of the application with a save. Several such saves
//! share a transaction, whose statements are sent at once; if one of them is refused, fails, or waits for a lock for
//! 100 ms, each gets a transaction of its own. An argument is sent as the type that its parameter has: a text can be a
//! `uuid`, a `timestamptz` or a `jsonb`. [`Postgres::under_fence`] is a transaction for statements that depend on each
//! other. Neither can write the tables of the engine, end the transaction, or change the session. Unqualified names of
//! tables are found by the `search_path` of the role, the database, or the connection string
//! (`?options=-csearch_path%3Dname`).
//!
//! # What the server must be
//!
//! PostgreSQL 13 or newer, with a database in UTF-8. The engine sets `synchronous_commit = on` for its sessions, unless it
//! is `remote_apply`, so that a save is on the disk of the server when it returns.
//!
//! **A failover to an asynchronous standby loses acknowledged writes**, and with them generations and fences: an old owner
//! could write again. Use synchronous replication (`synchronous_standby_names`), or keep all nodes stopped until the new
//! primary is known to have everything.
//!
//! A connection pooler must keep the session of a connection (`pool_mode = session` of PgBouncer), because of prepared
//! statements.
//!
//! Connections are not encrypted, unless the feature `tls` is enabled and `PostgresBuilder::tls` has a configuration. A
//! connection string with `sslmode=require` is refused without it.
//!
//! The operations need a tokio runtime with its timer enabled. Connections live on the runtime on which the database was
//! opened.

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
