//! Runs dactor actors on [ractor](https://docs.rs/ractor).
//!
//! Every dactor actor is a ractor actor with empty messages: each one runs a turn of the actor's cell.
//! [`RactorInterop`] returns the native cell, for links, process groups and monitors.

mod backend;
mod interop;
mod native;

pub use backend::{Ractor, ractor};
pub use interop::RactorInterop;
