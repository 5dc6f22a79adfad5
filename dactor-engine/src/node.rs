use std::fmt;
use std::sync::Arc;

use crate::Incarnation;

/// A node, identified by its address and its incarnation.
///
/// Nodes are equal only if their incarnations are equal: a restarted node is a different node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId {
    address: Arc<str>,
    incarnation: Incarnation,
}

impl NodeId {
    /// The node at this address, in a new incarnation. An engine does not interpret the address.
    pub fn start(address: &str) -> Self {
        Self::new(address, Incarnation::random())
    }

    /// The node with this address and incarnation.
    pub fn new(address: &str, incarnation: Incarnation) -> Self {
        Self { address: address.into(), incarnation }
    }

    /// The address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The incarnation.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.address, self.incarnation)
    }
}
