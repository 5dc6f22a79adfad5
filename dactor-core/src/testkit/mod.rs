//! What exact tests of actors need: a [probe](Probe) that shows what it received, a [journal](Journal) of what
//! happened in which order, [gates](Gate) that hold a handler or hook where the test wants it,
//! [faults](Faults) on the n-th call, a [clock](DrivenClock) that moves only when told, and, with the feature `wire`, a
//! `FarLink` between two systems, whose messages to each other travel as frames.
//!
//! Nothing here sleeps. A test waits for a signal: an entry in a journal, an arrival at a gate, a message at a
//! probe. Only the faults of a link are random, by a seed that it prints.

mod clock;
#[cfg(feature = "wire")]
mod far;
mod faults;
mod gate;
mod journal;
mod probe;

pub use clock::DrivenClock;
#[cfg(feature = "wire")]
pub use far::FarLink;
pub use faults::Faults;
pub use gate::Gate;
pub use journal::Journal;
pub use probe::{Inbox, Probe};
