//! Random programs against a simple model of what must hold.
//!
//! ```text
//!   seed ─► generate ─► Program ─► execute ─► History ─► check ─► what must not be
//!                          ▲                                          │
//!                          └──────────────── shrink ◄─────────────────┘
//! ```
//!
//! - A [`Program`] is data: a list of operations that clients do, with the jobs of the handlers inside the messages.
//!   Its text is a few lines of JSON, which replay it.
//! - The executor runs it on a system of the adapter under test, on a runtime of its own, and ends with a shutdown.
//! - The history is what callers, handlers, hooks and observers saw, in one order.
//! - The checker knows nothing of how the core works. It says what must hold: each ask is answered once, and each
//!   message handled once or accounted for once; the order of each sender in each lane; a bound counts what is alive;
//!   one notice for each watch; hooks in order; nobody is killed before the deadline; nothing is left.
//! - A program that breaks it is cut down: operations are dropped and made simpler while it still fails.
//!
//! On one thread with a simulated clock, which jumps to the next timer when all wait, a seed gives the same history each
//! time. On two threads and in real time a failure is looked for again and again while it is cut down.

mod check;
mod execute;
mod generate;
mod history;
mod player;
mod program;
mod search;
mod shrink;
#[cfg(test)]
mod tests;

pub use program::Program;
pub(crate) use search::{real_time, simulated};
