//! Storage engines for dactor's virtual actors: ownership of actors, leases of nodes, and durable states.
//!
//! An engine implements three traits. [`Directory`] grants the ownership of an entity with an increasing
//! [`Generation`], [`Membership`] keeps the leases of nodes, and [`StateStore`] keeps the states, each behind
//! a fence that only the newest generation passes. [`Memory`] is an engine; `dactor-sqlite` and
//! `dactor-postgres` are others. An engine on an SQL database also implements [`FencedSql`]: an activation
//! writes tables of the application in the transaction of its save.
//!
//! An activation claims its entity, opens its state, and saves under its granted generation. When another
//! node has taken over, a save of the old owner is refused:
//!
//! ```
//! use std::time::Duration;
//! use dactor_engine::{Claim, ClaimToken, Engine, EntityId, ErrorKind, Etag, Memory, NodeId};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = Engine::from(Memory::new());
//! let alice = EntityId::new("bank", "Account", "alice")?;
//!
//! let old = NodeId::start("10.0.0.1:4000");
//! engine.membership.join("bank", &old, Duration::from_secs(10)).await?;
//! let token = ClaimToken::random();
//! let Claim::Granted(first) = engine.directory.claim(&alice, &old, token).await? else { panic!() };
//! let opened = engine.state.open(&alice, first, token).await?;
//! let etag = Etag::random();
//! engine.state.save(&alice, first, opened.etag, etag, "100 cents".into()).await?;
//!
//! // The node leaves, and another one takes over.
//! engine.membership.leave(&old).await?;
//! let new = NodeId::start("10.0.0.2:4000");
//! engine.membership.join("bank", &new, Duration::from_secs(10)).await?;
//! let token = ClaimToken::random();
//! let Claim::Granted(second) = engine.directory.claim(&alice, &new, token).await? else { panic!() };
//! assert!(second > first);
//! let opened = engine.state.open(&alice, second, token).await?;
//! assert_eq!(opened.body.as_deref(), Some(&b"100 cents"[..]));
//!
//! let stale = engine.state.save(&alice, first, Some(etag), Etag::random(), "0 cents".into()).await;
//! assert_eq!(stale.unwrap_err().kind(), ErrorKind::Fenced);
//! # Ok(())
//! # }
//! ```
//!
//! # Writing an engine
//!
//! The decisions of the protocol are pure functions in [`decide`]. Test the engine with the rules of the
//! conformance kit, `dactor-conformance` with the feature `engine`.

mod clock;
pub mod decide;
mod directory;
mod engine;
mod entity;
mod error;
mod faults;
mod membership;
pub mod memory;
mod node;
mod random;
mod reaper;
pub mod settle;
mod sql;
mod state;
mod token;
mod watch;

pub use clock::{BootClock, Clock, ManualClock};
pub use directory::{Claim, Directory, Placement, PlacementChange};
pub use engine::Engine;
pub use entity::{EntityId, EntityIdError};
pub use error::{ErrorKind, FailedStatement, Operation, StorageError};
pub use faults::{Faults, Faulty};
pub use membership::{Eviction, Member, MemberChange, MemberState, Membership};
pub use memory::Memory;
pub use node::NodeId;
pub use reaper::Reaper;
pub use sql::{FencedSql, Row, Statement, Value};
pub use state::{Opened, Page, StateStore, Stored};
pub use token::{ClaimToken, Etag, Generation, Incarnation};
pub use watch::{Notice, Publisher, Watch};
