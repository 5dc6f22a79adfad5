//! Tools for deterministic actor tests: a [probe](Probe) that records received messages, a [journal](Journal)
//! of the order of events, [gates](Gate) that hold a handler or hook, [fault injection](Faults) on the n-th
//! call, and a [clock](DrivenClock) that advances only on demand.
//!
//! Nothing here sleeps. A test waits for a signal: an entry in a journal, an arrival at a gate, a message at
//! a probe. Nothing here is random, so no seed is needed.

mod clock;
mod faults;
mod gate;
mod journal;
mod probe;

pub use clock::DrivenClock;
pub use faults::Faults;
pub use gate::Gate;
pub use journal::Journal;
pub use probe::{Inbox, Probe};
