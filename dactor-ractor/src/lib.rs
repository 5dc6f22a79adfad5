//! Runs dactor actors on [ractor](https://docs.rs/ractor).
//!
//! Every dactor actor is a ractor actor whose messages are empty: each one is a turn of the actor's cell.
//! [`RactorInterop`] gives the native cell, for links, process groups and monitors.

mod backend;
mod interop;
mod native;

pub use backend::{Ractor, ractor};
pub use interop::RactorInterop;
