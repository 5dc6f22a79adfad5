#![doc = include_str!("docs/crate.md")]

pub use dactor_core::*;
pub use dactor_macros::{Expand, Message, Reduce, Transform};

/// Virtual actors: activated by their first message, one at a time, with durable state. See [`guide::virtual_actors`].
#[cfg(feature = "cluster")]
pub mod cluster {
    pub use dactor_cluster::*;
    #[doc(no_inline)]
    pub use dactor_engine as engine;
    #[doc(no_inline)]
    pub use dactor_engine::Memory;
    #[cfg(feature = "postgres")]
    #[doc(no_inline)]
    pub use dactor_postgres::Postgres;
    #[cfg(feature = "sqlite")]
    #[doc(no_inline)]
    pub use dactor_sqlite::Sqlite;
}

/// Nodes: systems in several processes that reach each other's actors. The guide `remote` has the guarantees.
#[cfg(feature = "remote")]
pub mod remote {
    pub use dactor_remote::*;
}

#[cfg(feature = "kameo")]
pub use dactor_kameo::{KameoInterop, kameo};
#[cfg(feature = "ractor")]
pub use dactor_ractor::{RactorInterop, ractor};
#[cfg(any(feature = "ractor", feature = "kameo"))]
pub use default_backend::DefaultBackend;

#[cfg(any(feature = "ractor", feature = "kameo"))]
mod default_backend;

/// Guides. Their code blocks run as doctests.
#[cfg(any(feature = "ractor", feature = "kameo"))]
pub mod guide {
    #[doc = include_str!("docs/errors.md")]
    pub mod errors {}
    #[doc = include_str!("docs/mailboxes.md")]
    pub mod mailboxes {}
    #[doc = include_str!("docs/messaging.md")]
    pub mod messaging {}
    #[doc = include_str!("docs/paths.md")]
    pub mod paths {}
    #[doc = include_str!("docs/reads.md")]
    pub mod reads {}
    #[doc = include_str!("docs/refs.md")]
    pub mod refs {}
    #[cfg(all(feature = "remote", feature = "ractor"))]
    #[doc = include_str!("docs/remote.md")]
    pub mod remote {}
    #[doc = include_str!("docs/streams.md")]
    pub mod streams {}
    #[doc = include_str!("docs/supervision.md")]
    pub mod supervision {}
    #[doc = include_str!("docs/timers.md")]
    pub mod timers {}
    #[cfg(all(feature = "cluster", feature = "ractor"))]
    #[doc = include_str!("docs/virtual.md")]
    pub mod virtual_actors {}
    #[cfg(all(feature = "testkit", feature = "wire"))]
    #[doc = include_str!("docs/far_testing.md")]
    pub mod far_testing {}
    #[cfg(feature = "wire")]
    #[doc = include_str!("docs/wire.md")]
    pub mod wire {}
}

/// The common imports: `use dactor::prelude::*;`.
pub mod prelude {
    #[cfg(any(feature = "ractor", feature = "kameo"))]
    pub use crate::DefaultBackend as _;
    #[cfg(feature = "kameo")]
    pub use crate::KameoInterop as _;
    pub use crate::Message;
    #[cfg(feature = "ractor")]
    pub use crate::RactorInterop as _;
    pub use crate::{
        Actor, ActorRef, Backoff, Context, Directive, Error, ErrorKind, Failure, Handler, MissedTick, OrFail,
        Outcome, Overflow, Priority, Recipient, SendError, StopReason, Supervision, System, Terminated,
        WeakRef,
    };
}
