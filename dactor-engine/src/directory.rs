use async_trait::async_trait;

use crate::{ClaimToken, EntityId, Generation, NodeId, StorageError, Watch};

/// The ownership of entities by nodes.
///
/// Ownership is granted by [`claim`](Self::claim) and ends with [`release`](Self::release), or when the death
/// of the owner is [recorded](crate::Membership::evict). The row of an entity is never deleted, so that its
/// generations only increase.
#[async_trait]
pub trait Directory: Send + Sync {
    /// The last known placement of the entity; `None` if it was never claimed.
    ///
    /// The result may be out of date. Only [`claim`](Self::claim) is authoritative.
    async fn lookup(&self, id: &EntityId) -> Result<Option<Placement>, StorageError>;

    /// Claims the entity for an activation on this node.
    ///
    /// | the entity | the answer |
    /// | --- | --- |
    /// | has no owner | granted, with the next generation |
    /// | is owned by this incarnation, same token | granted, with the same generation: the first answer was lost |
    /// | is owned by this incarnation, another token | granted, with the next generation |
    /// | is owned by a node whose death is recorded | granted, with the next generation |
    /// | is owned by another node | [`OwnedElsewhere`](Claim::OwnedElsewhere) |
    ///
    /// The owner's row decides: neither a missing row nor an expired deadline counts as a death. A claimant
    /// that is not a member of the entity's namespace, or whose death is recorded, gets
    /// [`Fenced`](crate::ErrorKind::Fenced).
    async fn claim(&self, id: &EntityId, claimant: &NodeId, token: ClaimToken)
    -> Result<Claim, StorageError>;

    /// Ends the ownership of this generation. Returns `false` and changes nothing if it has already ended.
    async fn release(&self, id: &EntityId, generation: Generation) -> Result<bool, StorageError>;

    /// Watches the placements in a namespace from now on, including changes by other processes.
    async fn watch_placements(&self, namespace: &str) -> Result<Watch<PlacementChange>, StorageError>;
}

/// The result of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Claim {
    /// The claimant owns the entity.
    Granted(Generation),
    /// Another node owns the entity.
    OwnedElsewhere {
        /// The owner.
        owner: NodeId,
        /// The generation of its ownership.
        generation: Generation,
    },
}

/// The current or last placement of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The last granted generation.
    pub generation: Generation,
    /// The owner; `None` if it has released the entity.
    pub owner: Option<NodeId>,
}

/// A change of a placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacementChange {
    /// The entity.
    pub id: EntityId,
    /// Its placement after the change.
    pub placement: Placement,
}
