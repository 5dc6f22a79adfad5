//! The core of [dactor](https://docs.rs/dactor): actors, refs, mailboxes and turns, implemented once for
//! every runtime.
//!
//! Applications use the `dactor` crate, which adds a backend; this crate has none. [`spi`] is the contract
//! for adapters.

// Iteration order of a hash table differs from run to run.
#![cfg_attr(not(test), warn(clippy::iter_over_hash_type))]

// Files shared with the tests beside the crate name it `dactor_core`.
#[cfg(test)]
extern crate self as dactor_core;

mod actor;
mod actor_ref;
mod base;
mod delivery;
mod identity;
mod interceptor;
pub mod interceptors;
mod kernel;
mod mailbox;
mod message;
pub mod path;
pub mod spi;
mod supervision;
mod system;
#[cfg(feature = "testkit")]
pub mod testkit;
#[cfg(feature = "wire")]
pub mod wire;

pub use actor::actor::{Actor, Handler, ReadHandler};
pub use actor::context::Context;
pub use actor::context::read::ReadContext;
pub use actor::deferred::Later;
pub use actor::factory::{ByFactory, ByValue, IntoActor};
pub use actor::stream::handlers::{ExpandHandler, ReduceHandler, TransformHandler};
pub use actor::stream::input::Input;
pub use actor::stream::producer::Producer;
pub use actor::stream::request::{ExpandRequest, ReduceRequest, Streaming, TransformRequest};
pub use actor::streams::Attached;
pub use actor::timers::{MissedTick, Timer, TimerKey};
pub use actor::watch::Terminated;
pub use actor_ref::actor_ref::{ActorRef, WeakRef};
pub use actor_ref::any_actor_ref::{AnyActorRef, Watchable};
pub use actor_ref::ask::Ask;
pub use actor_ref::pending::PendingReply;
pub use actor_ref::recipient::Recipient;
pub use actor_ref::send_builder::SendBuilder;
pub use actor_ref::stream::expand::Expanding;
pub use actor_ref::stream::items::Items;
pub use actor_ref::stream::reduce::Reducing;
pub use actor_ref::stream::transform::{Transformed, Transforming};
pub use base::error::{Error, ErrorKind, Result, SendError};
pub use base::failure::{Failure, OrFail, Outcome};
pub use base::pid::Pid;
pub use base::stop::{End, StopReason};
pub use delivery::access::{Dispatch, Exclusive, Handles, Interleaved, Shared, SharedActor};
pub use delivery::sent_to::SentTo;
pub use identity::{ActorId, ActorIdError, ActorIdField, ActorIdWarning, CorrelationId, NodeId, NodeIdError};
pub use interceptor::api::{About, Around, Completion, Delivery, Inbound, Next, Outbound, Verdict};
pub use interceptor::stream::{Direction, ItemVerdict, StreamEnd, StreamItem, StreamOutcome};
pub use mailbox::overflow::Overflow;
pub use mailbox::shed::Shed;
pub use message::access::Access;
pub use message::headers::{Deadline, Header, Headers, Sender, TraceParent};
pub use message::message::Message;
pub use message::mode::Mode;
pub use message::priority::Priority;
pub use message::stream::{Expand, Reduce, Transform};
pub use message::wire::{Codec, MAX_WIRE_NAME, StreamWire, Wire, WireCodec};
#[doc(no_inline)]
pub use path::{ActorPath, ActorSelection};
pub use supervision::directive::Directive;
pub use supervision::strategy::{Backoff, Supervision};
pub use system::config::ActorSystemConfig;
pub use system::event::{DeadLetter, DeadLetterFeed, DeadLetterTarget, Event, Lagged};
pub use system::get_or_spawn::GetOrSpawn;
pub use system::phases::Phase;
pub use system::select::Selection;
pub use system::spawn::Spawn;
pub use system::system::{System, SystemBuilder};

/// What `#[message(wire = "..")]` sets.
#[cfg(feature = "wire")]
#[doc(hidden)]
#[macro_export]
macro_rules! __wire {
    ($form:ident, $name:literal) => {
        ::core::option::Option::Some($crate::$form::serde($name))
    };
}

#[cfg(not(feature = "wire"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __wire {
    ($form:ident, $name:literal) => {
        ::core::compile_error!(
            "`#[message(wire = \"..\")]` needs the feature `wire` of `dactor`: dactor = { version = \"..\", features = [\"wire\"] }"
        )
    };
}
