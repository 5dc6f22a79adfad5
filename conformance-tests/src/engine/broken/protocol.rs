use std::sync::Arc;
use std::time::Duration;

use dactor_engine::decide::{ClaimDecision, JoinDecision, Lease, OpenDecision, PlacementRow, Standing};
use dactor_engine::memory::{Protocol, Standard};
use dactor_engine::{ClaimToken, Clock, ErrorKind, Etag, Eviction, Generation, ManualClock, NodeId};

/// The protocol with one wrong decision.
pub(super) struct FlawedProtocol {
    pub(super) flaw: &'static str,
    pub(super) clock: Arc<ManualClock>,
}

impl Protocol for FlawedProtocol {
    fn claim(
        &self,
        row: Option<&PlacementRow>,
        owner: Standing,
        claimant: Standing,
        node: &NodeId,
        token: ClaimToken,
    ) -> ClaimDecision {
        let (owner, claimant) = match self.flaw {
            "ignores-tombstones" => (Standing::Alive, claimant),
            "grants-to-the-dead" if claimant == Standing::Dead => (owner, Standing::Alive),
            "grants-to-strangers" if claimant == Standing::Unknown => (owner, Standing::Alive),
            _ => (owner, claimant),
        };
        let decision = Standard.claim(row, owner, claimant, node, token);
        let owned_by = |row: &PlacementRow| {
            row.owner.as_ref().is_some_and(|(owner, _)| owner.incarnation() == node.incarnation())
        };
        match (self.flaw, decision, row) {
            ("ignores-claim-tokens", ClaimDecision::Repeat(last), _) => {
                ClaimDecision::Grant(last.next().expect("more generations"))
            }
            ("refuses-repeated-claims", ClaimDecision::Repeat(_), _) => ClaimDecision::OwnedElsewhere,
            ("knows-only-incarnations", ClaimDecision::Grant(_), Some(row)) if owned_by(row) => {
                ClaimDecision::Repeat(row.generation)
            }
            ("reuses-the-generation-of-the-dead", ClaimDecision::Grant(_), Some(row))
                if owner == Standing::Dead =>
            {
                ClaimDecision::Grant(row.generation)
            }
            _ => decision,
        }
    }

    fn release(&self, row: Option<&PlacementRow>, generation: Generation) -> bool {
        match self.flaw {
            "releases-any-generation" => row.is_some_and(|row| row.owner.is_some()),
            "releases-twice" => row.is_some_and(|row| row.generation == generation),
            _ => Standard.release(row, generation),
        }
    }

    fn keeps_released_rows(&self) -> bool {
        self.flaw != "forgets-released-rows"
    }

    fn open(
        &self,
        fence: Option<(Generation, ClaimToken)>,
        generation: Generation,
        token: ClaimToken,
    ) -> OpenDecision {
        let lower = fence.is_some_and(|(fence, _)| generation < fence);
        match (self.flaw, Standard.open(fence, generation, token)) {
            ("opens-for-old-generations", OpenDecision::Fenced) if lower => OpenDecision::Raise,
            ("ignores-open-tokens", OpenDecision::Fenced) if !lower => OpenDecision::Repeat,
            ("refuses-repeated-opens", OpenDecision::Repeat) => OpenDecision::Fenced,
            (_, decision) => decision,
        }
    }

    fn save(
        &self,
        row: Option<(Generation, Option<Etag>)>,
        generation: Generation,
        read: Option<Etag>,
    ) -> Result<(), ErrorKind> {
        match (self.flaw, Standard.save(row, generation, read)) {
            ("ignores-the-fence", Err(ErrorKind::Fenced)) => {
                Standard.save(row.map(|(_, etag)| (generation, etag)), generation, read)
            }
            ("saves-for-higher-generations", Err(ErrorKind::Fenced))
                if row.is_some_and(|(fence, _)| generation > fence) =>
            {
                Standard.save(row.map(|(_, etag)| (generation, etag)), generation, read)
            }
            ("ignores-etags", Err(ErrorKind::Conflict)) => Ok(()),
            ("lets-no-etag-match", Err(ErrorKind::Conflict)) if read.is_none() => Ok(()),
            (_, decision) => decision,
        }
    }

    fn keeps_cleared_rows(&self) -> bool {
        self.flaw != "clears-the-fence"
    }

    fn standing(&self, lease: Option<&Lease>) -> Standing {
        match lease {
            Some(lease)
                if self.flaw == "takes-a-deadline-for-a-death" && lease.deadline <= self.clock.now() =>
            {
                Standing::Dead
            }
            _ => Standard.standing(lease),
        }
    }

    fn join(&self, lease: Option<&Lease>, now: Duration) -> JoinDecision {
        let dead = lease.is_some_and(|lease| lease.dead);
        match (self.flaw, Standard.join(lease, now)) {
            ("refuses-repeated-joins", JoinDecision::Renew) => JoinDecision::Refuse,
            ("joins-with-expired-leases", JoinDecision::Refuse) if !dead => JoinDecision::Renew,
            ("join-revives", JoinDecision::Refuse) if dead => JoinDecision::Insert,
            (_, decision) => decision,
        }
    }

    fn renew(&self, lease: Option<&Lease>, now: Duration) -> bool {
        let dead = lease.is_some_and(|lease| lease.dead);
        match self.flaw {
            "renews-expired-leases" if !dead => lease.is_some(),
            "renewal-revives" if dead => true,
            _ => Standard.renew(lease, now),
        }
    }

    fn evict(&self, lease: Option<&Lease>, seen: u64, now: Duration) -> Eviction {
        match (self.flaw, lease) {
            ("evicts-before-the-deadline", Some(lease)) => Standard.evict(Some(lease), seen, lease.deadline),
            ("ignores-the-seen-renewals", Some(lease)) => Standard.evict(Some(lease), lease.renewals, now),
            _ => Standard.evict(lease, seen, now),
        }
    }
}
