use std::time::Duration;

use async_trait::async_trait;

use crate::{NodeId, StorageError, Watch};

/// Membership of nodes, by leases.
///
/// A node's death is recorded as a *tombstone* in the row that renewals update. It is permanent, and written
/// by a separate operation, [`evict`](Self::evict) or [`leave`](Self::leave), before a claim relies on it. A
/// renewal that finds a tombstone fails.
#[async_trait]
pub trait Membership: Send + Sync {
    /// Acquires a lease for a new incarnation of a node.
    ///
    /// Joining again with the same incarnation renews its lease, in case the first response was lost. An
    /// incarnation whose lease has expired or whose death is recorded gets
    /// [`Fenced`](crate::ErrorKind::Fenced).
    async fn join(&self, namespace: &str, node: &NodeId, ttl: Duration) -> Result<(), StorageError>;

    /// Extends the lease by its TTL from now, and increments the number of renewals.
    ///
    /// An incarnation that never joined, whose lease has expired or whose death is recorded gets
    /// [`Fenced`](crate::ErrorKind::Fenced), and must stop serving.
    async fn renew(&self, node: &NodeId) -> Result<(), StorageError>;

    /// Records the death of a node, if its lease has expired and `seen` is still the number of its renewals.
    ///
    /// The caller must have seen this number for at least the TTL on its own monotonic clock, because the
    /// clock of the store may jump; [`Reaper`](crate::Reaper) does this. A node with
    /// [proven](MemberState::Gone) death is evicted at once.
    async fn evict(&self, node: &NodeId, seen: u64) -> Result<Eviction, StorageError>;

    /// Records the death of the calling node, which has stopped serving.
    async fn leave(&self, node: &NodeId) -> Result<(), StorageError>;

    /// The members of a namespace, sorted by incarnation. Dead members may be missing.
    async fn members(&self, namespace: &str) -> Result<Vec<Member>, StorageError>;

    /// Watches joins and deaths in a namespace from now on, including those of other processes.
    async fn watch_members(&self, namespace: &str) -> Result<Watch<MemberChange>, StorageError>;
}

/// The result of an eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Eviction {
    /// The death was recorded by this call.
    Recorded,
    /// The death was already recorded.
    AlreadyDead,
    /// The node has renewed its lease, or its lease has not expired. Nothing was changed.
    Alive,
    /// The node is unknown to the store. Nothing was changed.
    Unknown,
}

/// A node with its lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The node.
    pub node: NodeId,
    /// The duration of the lease after a renewal.
    pub ttl: Duration,
    /// The number of renewals.
    pub renewals: u64,
    /// The time until the lease expires, on the clock of the store.
    pub remaining: Duration,
    /// Whether the node is alive.
    pub state: MemberState,
}

/// Whether a member is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemberState {
    /// The lease has not expired.
    Alive,
    /// The lease has expired on the clock of the store, and can no longer be renewed. The node counts as alive until
    /// its death is recorded.
    Overdue,
    /// The node has provably ended: its process is gone, or the machine was rebooted.
    /// [`evict`](Membership::evict) records the death at once.
    Gone,
    /// The death is recorded.
    Dead,
}

/// A join or death of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberChange {
    /// The namespace of the node.
    pub namespace: String,
    /// The node.
    pub node: NodeId,
    /// `true` after a join, `false` after a recorded death.
    pub alive: bool,
}
