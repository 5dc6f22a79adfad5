//! Identities that mean the same on every node: of virtual actors, of nodes, and of requests.

mod actor_id;
mod correlation_id;
#[cfg(feature = "serde")]
pub(crate) mod external;
mod node_id;
#[cfg(feature = "serde")]
pub(crate) mod text_serde;

pub use actor_id::{ActorId, ActorIdError, ActorIdField, ActorIdWarning};
pub use correlation_id::CorrelationId;
pub use node_id::{NodeId, NodeIdError};
