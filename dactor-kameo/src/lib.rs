//! Runs dactor actors on [kameo](https://docs.rs/kameo).
//!
//! Every dactor actor is a kameo actor that runs its cell between native signals. [`KameoInterop`] returns
//! the native ref, for links and supervision.

mod backend;
mod interop;
mod native;

pub use backend::{Kameo, kameo};
pub use interop::KameoInterop;
pub use native::DactorActor;
