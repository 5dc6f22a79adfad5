use std::fmt;
use std::sync::Arc;

use crate::{Directory, FencedSql, Membership, StateStore};

/// The three parts of an engine, which may use different stores.
///
/// An engine that implements all three traits converts into it.
#[derive(Clone)]
pub struct Engine {
    /// The ownership of entities.
    pub directory: Arc<dyn Directory>,
    /// The leases of nodes.
    pub membership: Arc<dyn Membership>,
    /// The durable states.
    pub state: Arc<dyn StateStore>,
    /// The same states in an SQL database, for saves with statements of the application; `None` if the engine
    /// has no SQL. Replace it together with `state`.
    pub sql: Option<Arc<dyn FencedSql>>,
}

impl Engine {
    /// An engine whose three parts are one object.
    pub fn new<E: Directory + Membership + StateStore + 'static>(engine: Arc<E>) -> Self {
        Self { directory: engine.clone(), membership: engine.clone(), state: engine, sql: None }
    }

    /// An engine with SQL whose parts are one object.
    pub fn with_sql<E: Directory + Membership + FencedSql + 'static>(engine: Arc<E>) -> Self {
        Self { sql: Some(engine.clone()), ..Self::new(engine) }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}
