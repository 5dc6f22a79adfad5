//! Virtual actors for [dactor](https://docs.rs/dactor). A virtual actor is identified by a type and a key, is
//! activated by its first message, exists once, and keeps its state in a storage engine.
//!
//! ```
//! use dactor_cluster::{Activation, Cluster, Persistent, VirtualActor};
//! use dactor_core::wire::Remote;
//! use dactor_core::{Actor, Context, Handler, Message, Outcome, System};
//! use dactor_engine::Memory;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize, Clone, Default)]
//! struct Ledger {
//!     cents: u64,
//! }
//!
//! struct Account {
//!     ledger: Persistent<Ledger>,
//! }
//!
//! impl Actor for Account {}
//! impl Remote for Account {
//!     const TYPE: &'static str = "Account";
//! }
//! impl VirtualActor for Account {
//!     type State = Ledger;
//!     async fn activate(activation: Activation<Self>) -> Outcome<Self> {
//!         Ok(Account { ledger: activation.state() })
//!     }
//! }
//!
//! struct Deposit(u64);
//! impl Message for Deposit {
//!     type Reply = u64;
//!     type Access = dactor_core::Exclusive;
//! }
//! impl Handler<Deposit> for Account {
//!     async fn handle(&mut self, Deposit(cents): Deposit, _: &mut Context<Self>) -> Outcome<u64> {
//!         self.ledger.update(|ledger| ledger.cents += cents).await?;
//!         Ok(self.ledger.get().cents)
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let backend = dactor_ractor::ractor();
//! let system = System::builder("bank").backend(backend).build()?;
//! let cluster = Cluster::builder(&system).engine(Memory::new()).register::<Account>().start().await?;
//!
//! let alice = cluster.actor::<Account>("alice")?; // nothing runs yet
//! assert_eq!(alice.ask(Deposit(100)).await?, 100); // activates, loads, handles, saves, replies
//! alice.stop(); // deactivates
//! assert_eq!(alice.ask(Deposit(20)).await?, 120);
//! # system.shutdown().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! - An acknowledged save is never lost, and no stale write is applied: the store refuses a save of an
//!   activation that has lost its ownership.
//! - At most one activation of an actor *serves*, as long as clock drift is below the margin of the lease,
//!   and no machine is frozen between a check and the subsequent send. An older instance may still be in
//!   memory, but can neither save nor answer.
//! - Memory never shows an unsaved state: [`Persistent`] changes its value only after the commit.
//! - Tells are delivered at most once. An ask is answered exactly once, with a reply or an error.

mod activate;
mod address;
mod catalog;
mod cluster;
mod codec;
mod context;
mod entry;
mod error;
mod lease;
mod lifecycle;
mod options;
mod parents;
mod persistent;
pub mod placement;
mod renewal;
mod route;
mod sql;
mod state;
pub mod stores;
mod sweep;
mod virtual_actor;

pub use activate::Activation;
pub use address::ActorAddress;
pub use cluster::{Cluster, ClusterBuilder};
pub use codec::{OldState, StateSerializer};
pub use context::VirtualContext;
pub use error::{ClusterError, StateError};
pub use options::{OnLeaseLost, TypeOptions};
pub use persistent::Persistent;
pub use sql::SqlReader;
pub use state::ActivationState;
pub use virtual_actor::{DeactivationReason, VirtualActor};
