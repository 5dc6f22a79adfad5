//! The decisions of the protocol, as pure functions.
//!
//! An engine reads the rows for a decision under the lock of the row that it changes, decides, and writes,
//! all in one step. An engine that decides in SQL mirrors these functions.

use std::time::Duration;

use crate::{ClaimToken, ErrorKind, Etag, Eviction, Generation, MemberState, NodeId};

/// The recorded status of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// The incarnation has no row.
    Unknown,
    /// The row has no tombstone, regardless of its deadline.
    Alive,
    /// The row has a tombstone.
    Dead,
}

/// The directory row of an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacementRow {
    /// The last granted generation.
    pub generation: Generation,
    /// The owner and its claim token; `None` after a release.
    pub owner: Option<(NodeId, ClaimToken)>,
}

/// The decision about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimDecision {
    /// Store the claimant, its token and this new generation.
    Grant(Generation),
    /// Change nothing and return this generation: the first response was lost.
    Repeat(Generation),
    /// Another node owns the entity.
    OwnedElsewhere,
    /// The claimant is dead or not a member.
    Refuse,
    /// The generations are exhausted.
    Exhausted,
}

/// Decides a claim. `owner` is the standing of the owner in `row`, if any.
pub fn claim(
    row: Option<&PlacementRow>,
    owner: Standing,
    claimant: Standing,
    node: &NodeId,
    token: ClaimToken,
) -> ClaimDecision {
    if claimant != Standing::Alive {
        return ClaimDecision::Refuse;
    }
    let Some(row) = row else { return ClaimDecision::Grant(Generation::FIRST) };
    match &row.owner {
        Some((current, theirs)) if current.incarnation() == node.incarnation() && *theirs == token => {
            return ClaimDecision::Repeat(row.generation);
        }
        Some((current, _)) if current.incarnation() != node.incarnation() && owner != Standing::Dead => {
            return ClaimDecision::OwnedElsewhere;
        }
        _ => {}
    }
    row.generation.next().map_or(ClaimDecision::Exhausted, ClaimDecision::Grant)
}

/// Decides a release: whether this generation owns the entity.
pub fn release(row: Option<&PlacementRow>, generation: Generation) -> bool {
    row.is_some_and(|row| row.owner.is_some() && row.generation == generation)
}

/// The decision about an open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpenDecision {
    /// Store the generation and the token as the fence, and load.
    Raise,
    /// Load the state: the first response was lost.
    Repeat,
    /// Another activation has opened the state.
    Fenced,
}

/// Decides an open. `fence` is the generation and token that last opened the state.
pub fn open(
    fence: Option<(Generation, ClaimToken)>,
    generation: Generation,
    token: ClaimToken,
) -> OpenDecision {
    match fence {
        None => OpenDecision::Raise,
        Some((fence, _)) if generation > fence => OpenDecision::Raise,
        Some(same) if same == (generation, token) => OpenDecision::Repeat,
        Some(_) => OpenDecision::Fenced,
    }
}

/// Decides a save or a clear: `Ok` to apply it, otherwise the kind of the error.
///
/// `row` is the stored fence and etag; `None` if the state was never opened.
pub fn save(
    row: Option<(Generation, Option<Etag>)>,
    generation: Generation,
    read: Option<Etag>,
) -> Result<(), ErrorKind> {
    match row {
        None => Err(ErrorKind::NotFound),
        Some((fence, _)) if fence != generation => Err(ErrorKind::Fenced),
        Some((_, etag)) if etag != read => Err(ErrorKind::Conflict),
        Some(_) => Ok(()),
    }
}

/// The stored lease of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// When the lease expires, on the clock of the store.
    pub deadline: Duration,
    /// The number of renewals.
    pub renewals: u64,
    /// Whether the death is recorded.
    pub dead: bool,
}

/// The decision about a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinDecision {
    /// Store a new lease.
    Insert,
    /// Renew the lease: the first response was lost.
    Renew,
    /// The incarnation has lost its lease.
    Refuse,
}

/// Decides a join at the time `now`.
pub fn join(lease: Option<&Lease>, now: Duration) -> JoinDecision {
    match lease {
        None => JoinDecision::Insert,
        Some(_) if renew(lease, now) => JoinDecision::Renew,
        Some(_) => JoinDecision::Refuse,
    }
}

/// Decides a renewal at the time `now`: whether to extend the lease. Otherwise it is lost.
pub fn renew(lease: Option<&Lease>, now: Duration) -> bool {
    lease.is_some_and(|lease| !lease.dead && lease.deadline > now)
}

/// Decides an eviction at the time `now`. On [`Eviction::Recorded`] the tombstone is stored.
///
/// `gone` means that the node's process has provably ended, so that its lease need not have expired.
pub fn evict(lease: Option<&Lease>, seen: u64, gone: bool, now: Duration) -> Eviction {
    match lease {
        None => Eviction::Unknown,
        Some(lease) if lease.dead => Eviction::AlreadyDead,
        Some(_) if gone => Eviction::Recorded,
        Some(lease) if lease.renewals == seen && lease.deadline <= now => Eviction::Recorded,
        Some(_) => Eviction::Alive,
    }
}

/// The state of a member at the time `now`.
pub fn member_state(lease: &Lease, gone: bool, now: Duration) -> MemberState {
    match lease {
        lease if lease.dead => MemberState::Dead,
        _ if gone => MemberState::Gone,
        lease if lease.deadline <= now => MemberState::Overdue,
        _ => MemberState::Alive,
    }
}

/// Whether an evictor has seen a lease unrenewed for long enough. `since` is when it first saw the current
/// number of renewals; both times are on its own monotonic clock.
pub fn unrenewed(ttl: Duration, since: Duration, now: Duration) -> bool {
    now.saturating_sub(since) >= ttl
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generation(number: u64) -> Generation {
        Generation::new(number).unwrap()
    }

    #[test]
    fn claims() {
        use ClaimDecision::{Exhausted, Grant, OwnedElsewhere, Refuse, Repeat};
        use Standing::{Alive, Dead, Unknown};
        let (me, other) = (NodeId::start("a"), NodeId::start("b"));
        let restarted = NodeId::start("a");
        let (mine, another) = (ClaimToken::random(), ClaimToken::random());
        let row = |number, owner: Option<(&NodeId, ClaimToken)>| {
            let owner = owner.map(|(node, token)| (node.clone(), token));
            Some(PlacementRow { generation: generation(number), owner })
        };
        let last = i64::MAX as u64;
        let table = [
            // The row, the standing of its owner and of the claimant, the expected decision.
            (None, Unknown, Alive, Grant(generation(1))),
            (row(4, None), Unknown, Alive, Grant(generation(5))),
            (row(4, Some((&me, mine))), Alive, Alive, Repeat(generation(4))),
            (row(4, Some((&me, another))), Alive, Alive, Grant(generation(5))),
            (row(4, Some((&other, another))), Alive, Alive, OwnedElsewhere),
            (row(4, Some((&other, mine))), Alive, Alive, OwnedElsewhere),
            (row(4, Some((&other, another))), Unknown, Alive, OwnedElsewhere),
            (row(4, Some((&other, another))), Dead, Alive, Grant(generation(5))),
            (row(4, Some((&restarted, mine))), Alive, Alive, OwnedElsewhere),
            (row(4, Some((&restarted, mine))), Dead, Alive, Grant(generation(5))),
            (row(last, None), Unknown, Alive, Exhausted),
            // A dead or unknown claimant is refused, even for an entity that it owns.
            (None, Unknown, Dead, Refuse),
            (None, Unknown, Unknown, Refuse),
            (row(4, None), Unknown, Dead, Refuse),
            (row(4, Some((&me, mine))), Dead, Dead, Refuse),
            (row(4, Some((&other, another))), Dead, Unknown, Refuse),
        ];
        for (line, (row, owner, claimant, decision)) in table.into_iter().enumerate() {
            assert_eq!(claim(row.as_ref(), owner, claimant, &me, mine), decision, "line {line}");
        }
    }

    #[test]
    fn releases() {
        let owner = Some((NodeId::start("a"), ClaimToken::random()));
        let owned = PlacementRow { generation: generation(4), owner };
        let free = PlacementRow { generation: generation(4), owner: None };
        assert!(release(Some(&owned), generation(4)));
        assert!(!release(Some(&owned), generation(3)));
        assert!(!release(Some(&owned), generation(5)));
        assert!(!release(Some(&free), generation(4)));
        assert!(!release(None, generation(1)));
    }

    #[test]
    fn opens() {
        use OpenDecision::{Fenced, Raise, Repeat};
        let (mine, another) = (ClaimToken::random(), ClaimToken::random());
        for (fence, decision) in [
            (None, Raise),
            (Some((generation(4), mine)), Raise),
            (Some((generation(4), another)), Raise),
            (Some((generation(5), mine)), Repeat),
            (Some((generation(5), another)), Fenced),
            (Some((generation(6), mine)), Fenced),
            (Some((generation(6), another)), Fenced),
        ] {
            assert_eq!(open(fence, generation(5), mine), decision, "{fence:?}");
        }
    }

    #[test]
    fn saves() {
        let (read, other) = (Etag::random(), Etag::random());
        for (row, expected, result) in [
            (None, None, Err(ErrorKind::NotFound)),
            (Some((5, None)), None, Ok(())),
            (Some((5, Some(read))), Some(read), Ok(())),
            (Some((5, Some(other))), Some(read), Err(ErrorKind::Conflict)),
            (Some((5, None)), Some(read), Err(ErrorKind::Conflict)),
            (Some((5, Some(read))), None, Err(ErrorKind::Conflict)),
            (Some((6, Some(read))), Some(read), Err(ErrorKind::Fenced)),
            (Some((4, Some(read))), Some(read), Err(ErrorKind::Fenced)),
            (Some((6, Some(other))), Some(read), Err(ErrorKind::Fenced)),
        ] {
            let row = row.map(|(fence, etag)| (generation(fence), etag));
            assert_eq!(save(row, generation(5), expected), result, "{row:?} {expected:?}");
        }
    }

    #[test]
    fn leases() {
        let now = Duration::from_secs(10);
        let lease =
            |seconds, renewals, dead| Lease { deadline: Duration::from_secs(seconds), renewals, dead };
        for (stored, joins, renews, evicts, gone) in [
            (None, JoinDecision::Insert, false, Eviction::Unknown, Eviction::Unknown),
            (Some(lease(11, 3, false)), JoinDecision::Renew, true, Eviction::Alive, Eviction::Recorded),
            (Some(lease(10, 3, false)), JoinDecision::Refuse, false, Eviction::Recorded, Eviction::Recorded),
            (Some(lease(10, 4, false)), JoinDecision::Refuse, false, Eviction::Alive, Eviction::Recorded),
            (
                Some(lease(11, 3, true)),
                JoinDecision::Refuse,
                false,
                Eviction::AlreadyDead,
                Eviction::AlreadyDead,
            ),
            (
                Some(lease(9, 3, true)),
                JoinDecision::Refuse,
                false,
                Eviction::AlreadyDead,
                Eviction::AlreadyDead,
            ),
        ] {
            let stored = stored.as_ref();
            assert_eq!(join(stored, now), joins, "{stored:?}");
            assert_eq!(renew(stored, now), renews, "{stored:?}");
            assert_eq!(evict(stored, 3, false, now), evicts, "{stored:?}");
            assert_eq!(evict(stored, 3, true, now), gone, "{stored:?}");
        }
        assert_eq!(member_state(&lease(11, 0, false), false, now), MemberState::Alive);
        assert_eq!(member_state(&lease(10, 0, false), false, now), MemberState::Overdue);
        assert_eq!(member_state(&lease(11, 0, false), true, now), MemberState::Gone);
        assert_eq!(member_state(&lease(11, 0, true), true, now), MemberState::Dead);
    }

    #[test]
    fn an_evictor_waits_for_a_ttl_of_its_own() {
        let second = Duration::from_secs;
        assert!(!unrenewed(second(10), second(5), second(14)));
        assert!(unrenewed(second(10), second(5), second(15)));
        assert!(!unrenewed(second(10), second(5), second(4)));
    }
}
