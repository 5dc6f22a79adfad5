//! Runs dactor actors on [kameo](https://docs.rs/kameo).
//!
//! Every dactor actor is a kameo actor that keeps its cell running between native signals. [`KameoInterop`]
//! gives the native ref, for links and supervision.

mod backend;
mod interop;
mod native;

pub use backend::{Kameo, kameo};
pub use interop::KameoInterop;
pub use native::DactorActor;
