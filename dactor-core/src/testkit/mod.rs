//! What exact tests of actors need: a [probe](Probe) that shows what it received, a [journal](Journal) of what
//! happened in which order, [gates](Gate) that hold a handler or hook where the test wants it,
//! [faults](Faults) on the n-th call, and a [clock](DrivenClock) that moves only when told.
//!
//! Nothing here sleeps. A test waits for a signal: an entry in a journal, an arrival at a gate, a message at a
//! probe. Nothing here is random, so nothing needs a seed.

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
