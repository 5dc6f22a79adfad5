use std::fmt;

use dactor_core::ActorId;
use dactor_engine::{Generation, NodeId};

/// The location of an active virtual actor: the actor, the node, and the generation of its ownership.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ActorAddress {
    /// The actor.
    pub id: ActorId,
    /// The node.
    pub node: NodeId,
    /// The generation. A later activation of the actor on any node has a higher one.
    pub generation: Generation,
}

impl fmt::Display for ActorAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} (generation {})", self.id, self.node, self.generation)
    }
}
