//! The contract between the core and a runtime: what an adapter gets, and what it must do.
//!
//! An adapter contains no semantics. It gets a [`Cell`], a complete actor with its mailbox, hooks, failures
//! and restarts, already started, and only provides a native actor to host it:
//!
//!
//! 1. [`Backend::spawn`] creates the native actor around the cell, on the tokio runtime it is called in. It
//!    calls [`Cell::bind`] **before it returns** and before the cell is run for the first time.
//! 2. One task runs the cell, in one of two ways:
//!    - *resident*: a runtime that lets a future live inside the actor polls [`Cell::poll_run`] from the start
//!      to its end, without waiting for a wake;
//!    - *by turns*: a runtime whose actors only react to messages runs one [`Cell::poll_turn`] for each
//!      [`NativeHandle::wake`], and obeys the [`TurnEnd`]. An extra turn is harmless.
//! 3. A cell that has ended returns its [`Exit`]. The native actor ends, too, and **reports a failure as a
//!    failure** to native supervisors.
//! 4. When the native runtime ends the actor from outside, the adapter calls [`Cell::end`] (or [`Ender::end`]) and
//!    runs the cell to its end if it still can, or drops it. Dropping is always safe: it counts as a kill,
//!    answers every asker and notifies every waiter. A cell must not be kept alive or forgotten after its native
//!    actor.
//! 5. The death of a native peer or child must not end the actor; on some runtimes that needs an override.
//!
//! An adapter needs no more than that. A crate that carries messages to actors elsewhere implements [`FarRoute`] and makes
//! refs to them with [`far_ref`]. A crate that spawns actors on behalf of others, such as the activations of virtual actors,
//! takes part in their lives by a [`Lifecycle`].
//!
//! The conformance suite checks all of this: an adapter that passes it is correct. The adapter guide in the
//! repository's `docs` builds one from scratch.

pub use crate::delivery::envelope::Envelope;
pub use crate::delivery::envelope::lifecycle::{Lifecycle, LifecycleFuture};
pub use crate::delivery::far::{FarAsk, IncomingAsk, ReplyReturn, ReplyTo};
pub use crate::kernel::actor_core::route::{FarRefused, FarRoute, FarSend};
pub use crate::kernel::backend::{Backend, NativeHandle};
pub use crate::kernel::cell::{Cell, Ender, Exit, ExitTeller, ExitWatch, NativeEnd, TurnEnd, exit_watch};
pub use crate::kernel::task::TURN;
pub use crate::message::items::{FarStreams, ItemSink, ItemSource};
pub use crate::system::far::{
    current, deliver, far_ended, far_paths, far_ref, is_shutting_down, lifecycle, lost, refuse, sender,
    spawn_child, unhandled, with_lifecycle,
};
