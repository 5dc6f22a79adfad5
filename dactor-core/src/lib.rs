//! The kernel of [dactor](https://docs.rs/dactor): actors, references, mailboxes and turns, once for every
//! runtime.
//!
//! Applications use the `dactor` crate, which adds a backend; this crate names none. What an adapter for a
//! runtime has to do is in [`spi`].

mod actor;
mod ask;
mod attached;
mod bound;
mod closing;
mod config;
mod context;
mod cycles;
mod end;
mod ended;
mod envelope;
mod error;
mod event;
mod exclusive;
mod failure;
mod family;
mod foreign;
mod handling;
mod headers;
mod identity;
mod intercepted;
mod interceptor;
pub mod interceptors;
mod lanes;
mod later;
mod life;
mod linger;
mod lookup;
mod mailbox;
mod message;
mod outbound;
mod owed;
mod panic;
pub mod path;
mod pending;
mod phases;
mod pid;
mod pipeline;
mod place;
mod post;
mod priority;
#[cfg(test)]
mod puppet;
mod queue;
mod quit;
mod random;
mod recipient;
mod reference;
mod registry;
mod reply;
mod runtime;
mod seed;
mod select;
mod shared;
mod shed;
mod shutdown;
mod slot;
mod spawn;
pub mod spi;
mod stash;
mod stop;
mod stopping;
mod supervision;
mod sync;
mod system;
#[cfg(feature = "testkit")]
pub mod testkit;
#[cfg(feature = "serde")]
mod text_serde;
mod timers;
mod tree;
mod turn;
mod watch;

pub use actor::{Actor, Directive, Handler};
pub use ask::Ask;
pub use attached::Attached;
pub use bound::Overflow;
pub use config::ActorSystemConfig;
pub use context::Context;
pub use error::{Error, ErrorKind, Result, SendError};
pub use event::{DeadLetter, DeadLetterFeed, Event, Lagged};
pub use failure::{Failure, OrFail, Outcome};
pub use headers::{Deadline, Header, Headers, Sender, TraceParent};
pub use identity::{ActorId, ActorIdError, ActorIdField, ActorIdWarning, CorrelationId, NodeId, NodeIdError};
pub use interceptor::{About, Around, Completion, Delivery, Inbound, Mode, Next, Outbound, Verdict};
pub use later::Later;
pub use lookup::Identity;
pub use message::{Message, SentTo};
#[doc(no_inline)]
pub use path::{ActorPath, ActorSelection};
pub use pending::PendingReply;
pub use phases::Phase;
pub use pid::Pid;
pub use post::Post;
pub use priority::Priority;
pub use recipient::Recipient;
pub use reference::{ActorRef, WeakRef};
pub use seed::{ByFactory, ByValue, Source};
pub use select::Selection;
pub use shed::Shed;
pub use spawn::Spawn;
pub use stop::StopReason;
pub use supervision::{Backoff, Supervision};
pub use system::{System, SystemBuilder};
pub use timers::{MissedTick, Timer, TimerKey};
pub use watch::Terminated;
