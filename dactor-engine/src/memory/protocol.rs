use std::time::Duration;

use crate::decide::{self, ClaimDecision, JoinDecision, Lease, OpenDecision, PlacementRow, Standing};
use crate::{ClaimToken, ErrorKind, Etag, Eviction, Generation, NodeId};

/// The protocol decisions of a [`Memory`](crate::Memory).
///
/// Each method defaults to the function of the same name in [`decide`]. Overriding one makes a deliberately
/// broken engine, with which a test suite proves that it detects the defect.
pub trait Protocol: Send + Sync {
    /// Decides a claim.
    fn claim(
        &self,
        row: Option<&PlacementRow>,
        owner: Standing,
        claimant: Standing,
        node: &NodeId,
        token: ClaimToken,
    ) -> ClaimDecision {
        decide::claim(row, owner, claimant, node, token)
    }

    /// Decides a release.
    fn release(&self, row: Option<&PlacementRow>, generation: Generation) -> bool {
        decide::release(row, generation)
    }

    /// Whether a release keeps the row, and with it the last generation.
    fn keeps_released_rows(&self) -> bool {
        true
    }

    /// Decides an open.
    fn open(
        &self,
        fence: Option<(Generation, ClaimToken)>,
        generation: Generation,
        token: ClaimToken,
    ) -> OpenDecision {
        decide::open(fence, generation, token)
    }

    /// Decides a save or a clear.
    fn save(
        &self,
        row: Option<(Generation, Option<Etag>)>,
        generation: Generation,
        read: Option<Etag>,
    ) -> Result<(), ErrorKind> {
        decide::save(row, generation, read)
    }

    /// Whether a clear keeps the row, and with it the fence.
    fn keeps_cleared_rows(&self) -> bool {
        true
    }

    /// The standing of a node with this lease.
    fn standing(&self, lease: Option<&Lease>) -> Standing {
        match lease {
            None => Standing::Unknown,
            Some(lease) if lease.dead => Standing::Dead,
            Some(_) => Standing::Alive,
        }
    }

    /// Decides a join.
    fn join(&self, lease: Option<&Lease>, now: Duration) -> JoinDecision {
        decide::join(lease, now)
    }

    /// Decides a renewal.
    fn renew(&self, lease: Option<&Lease>, now: Duration) -> bool {
        decide::renew(lease, now)
    }

    /// Decides an eviction.
    fn evict(&self, lease: Option<&Lease>, seen: u64, now: Duration) -> Eviction {
        decide::evict(lease, seen, false, now)
    }
}

/// The correct protocol.
#[derive(Debug, Clone, Copy, Default)]
pub struct Standard;

impl Protocol for Standard {}
