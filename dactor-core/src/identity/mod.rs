//! Identities that are valid on every node: of virtual actors, nodes and requests.

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
