//! Random programs, checked against a model of the API.
//!
//! ```text
//!   seed ─► generate ─► Program ─► execute ─► History ─► check ─► violation
//!                          ▲                                          │
//!                          └──────────────── shrink ◄─────────────────┘
//! ```
//!
//! - A [`Program`] is data: the operations of clients, with the jobs of the handlers inside the messages. Its text, a
//!   few lines of JSON, replays it.
//! - The executor runs it on a system of the adapter under test, on a new runtime, and ends with a shutdown.
//! - The history is the list of observations of callers, handlers, hooks and observers, in one order.
//! - The checker does not depend on the implementation. It checks that each ask is answered once and each message is
//!   handled or reported once; FIFO order per sender and lane; capacities; one notice per watch; the order of hooks;
//!   that no actor is killed before the deadline; that the items of a stream come in order up to one end or one error; that
//!   `get_or_spawn` never lets two actors of one name live; and that nothing is leaked.
//! - A failing program is shrunk: operations are removed and simplified while it still fails.
//!
//! On one thread with a simulated clock, which advances to the next timer when all tasks wait, a seed always gives
//! the same history. In real time a failing program is repeated while it is shrunk.

mod actor;
mod check;
mod execute;
mod generate;
mod history;
mod interceptor;
mod message;
mod program;
mod run;
mod search;
mod send;
mod shrink;
mod splitmix;
mod streams;
#[cfg(test)]
mod tests;

pub use program::Program;
pub use splitmix::SplitMix64;

pub(crate) use search::{real_time, simulated};
