use std::fmt;
use std::sync::Arc;

use crate::{Directory, Membership, StateStore};

/// The three parts of an engine, which may be in different stores.
///
/// An engine that implements all three traits converts into it.
#[derive(Clone)]
pub struct Engine {
    /// Which node owns which entity.
    pub directory: Arc<dyn Directory>,
    /// Which nodes are alive.
    pub membership: Arc<dyn Membership>,
    /// The durable states.
    pub state: Arc<dyn StateStore>,
}

impl Engine {
    /// An engine whose three parts are one object.
    pub fn new<E: Directory + Membership + StateStore + 'static>(engine: Arc<E>) -> Self {
        Self { directory: engine.clone(), membership: engine.clone(), state: engine }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}
