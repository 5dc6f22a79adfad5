use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use crate::{Eviction, Incarnation, Member, MemberState, Membership, NodeId, StorageError, decide};

/// Evicts nodes that do not renew their leases.
///
/// An expired deadline alone is not sufficient, because the clock of a store may jump. The reaper must have
/// seen an unchanged number of renewals for the TTL of the lease on its own monotonic clock. A node with
/// [proven](MemberState::Gone) death is evicted at once.
pub struct Reaper {
    origin: Instant,
    seen: HashMap<Incarnation, Sighting>,
}

/// When a lease was first seen with this number of renewals.
struct Sighting {
    renewals: u64,
    since: Duration,
}

impl Default for Reaper {
    fn default() -> Self {
        Self { origin: Instant::now(), seen: HashMap::new() }
    }
}

impl Reaper {
    /// A reaper that has not seen any lease.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks all leases of a namespace, and returns the nodes whose deaths this call recorded.
    ///
    /// Call it periodically, several times per TTL.
    pub async fn reap(
        &mut self,
        membership: &dyn Membership,
        namespace: &str,
    ) -> Result<Vec<NodeId>, StorageError> {
        self.reap_at(membership, namespace, self.origin.elapsed()).await
    }

    /// Like [`reap`](Self::reap), at this time of the reaper's monotonic clock. For tests.
    pub async fn reap_at(
        &mut self,
        membership: &dyn Membership,
        namespace: &str,
        now: Duration,
    ) -> Result<Vec<NodeId>, StorageError> {
        let members = membership.members(namespace).await?;
        let mut evicted = Vec::new();
        for member in self.observe(members, now) {
            if membership.evict(&member.node, member.renewals).await? == Eviction::Recorded {
                evicted.push(member.node);
            }
        }
        Ok(evicted)
    }

    /// Updates the sightings, and returns the members to evict.
    fn observe(&mut self, members: Vec<Member>, now: Duration) -> Vec<Member> {
        self.seen
            .retain(|incarnation, _| members.iter().any(|member| member.node.incarnation() == *incarnation));
        members.into_iter().filter(|member| self.is_dead(member, now)).collect()
    }

    fn is_dead(&mut self, member: &Member, now: Duration) -> bool {
        let first = Sighting { renewals: member.renewals, since: now };
        let sighting = self.seen.entry(member.node.incarnation()).or_insert(first);
        if sighting.renewals != member.renewals {
            *sighting = Sighting { renewals: member.renewals, since: now };
        }
        match member.state {
            MemberState::Gone => true,
            MemberState::Overdue => decide::unrenewed(member.ttl, sighting.since, now),
            MemberState::Alive | MemberState::Dead => false,
        }
    }
}

impl fmt::Debug for Reaper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reaper").field("seen", &self.seen.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_watched_for_a_ttl() {
        let second = Duration::from_secs;
        let node = NodeId::start("a");
        let member = |renewals, state| Member {
            node: node.clone(),
            ttl: second(10),
            renewals,
            remaining: Duration::ZERO,
            state,
        };
        let mut reaper = Reaper::new();
        let mut dead =
            |renewals, state, now| !reaper.observe(vec![member(renewals, state)], second(now)).is_empty();
        // The store's clock has jumped: the first sighting is already overdue.
        assert!(!dead(1, MemberState::Overdue, 100));
        assert!(!dead(1, MemberState::Overdue, 109));
        assert!(!dead(2, MemberState::Alive, 109));
        assert!(!dead(2, MemberState::Overdue, 118));
        assert!(dead(2, MemberState::Overdue, 119));
        assert!(!dead(2, MemberState::Alive, 200));
        assert!(!dead(2, MemberState::Dead, 300));
        assert!(dead(3, MemberState::Gone, 300));
    }
}
