use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

use bytes::Bytes;

use super::Protocol;
use crate::decide::{self, ClaimDecision, JoinDecision, Lease, OpenDecision, PlacementRow, Standing};
use crate::{
    Claim, ClaimToken, EntityId, ErrorKind, Etag, Eviction, Generation, Incarnation, Member, NodeId, Opened,
    Page, Placement, Stored,
};

/// Namespace and actor type, because a list reads the states of one type.
type TypeKey = (Box<str>, Box<str>);

/// The rows of the store.
#[derive(Default)]
pub(super) struct Tables {
    placements: BTreeMap<EntityId, PlacementRow>,
    members: BTreeMap<Incarnation, MemberRow>,
    states: BTreeMap<TypeKey, BTreeMap<Box<str>, StateRow>>,
}

struct MemberRow {
    namespace: Box<str>,
    node: NodeId,
    ttl: Duration,
    lease: Lease,
}

struct StateRow {
    fence: Generation,
    token: ClaimToken,
    etag: Option<Etag>,
    body: Option<Bytes>,
}

impl Tables {
    pub(super) fn placement(&self, id: &EntityId) -> Option<Placement> {
        let row = self.placements.get(id)?;
        let owner = row.owner.as_ref().map(|(node, _)| node.clone());
        Some(Placement { generation: row.generation, owner })
    }

    /// Returns the result, and whether the row has changed.
    pub(super) fn claim(
        &mut self,
        protocol: &dyn Protocol,
        id: &EntityId,
        node: &NodeId,
        token: ClaimToken,
    ) -> Result<(Claim, bool), ErrorKind> {
        let row = self.placements.get(id);
        let owner = row.and_then(|row| row.owner.as_ref());
        let owner = owner.map_or(Standing::Unknown, |(owner, _)| self.standing(protocol, id, owner));
        let claimant = self.standing(protocol, id, node);
        match protocol.claim(row, owner, claimant, node, token) {
            ClaimDecision::Grant(generation) => {
                let row = PlacementRow { generation, owner: Some((node.clone(), token)) };
                self.placements.insert(id.clone(), row);
                Ok((Claim::Granted(generation), true))
            }
            ClaimDecision::Repeat(generation) => Ok((Claim::Granted(generation), false)),
            ClaimDecision::OwnedElsewhere => match row {
                Some(PlacementRow { generation, owner: Some((owner, _)) }) => {
                    Ok((Claim::OwnedElsewhere { owner: owner.clone(), generation: *generation }, false))
                }
                _ => Err(ErrorKind::Conflict),
            },
            ClaimDecision::Refuse => Err(ErrorKind::Fenced),
            ClaimDecision::Exhausted => Err(ErrorKind::TooLarge),
        }
    }

    fn standing(&self, protocol: &dyn Protocol, id: &EntityId, node: &NodeId) -> Standing {
        let row = self.members.get(&node.incarnation()).filter(|row| *row.namespace == *id.namespace());
        protocol.standing(row.map(|row| &row.lease))
    }

    pub(super) fn release(&mut self, protocol: &dyn Protocol, id: &EntityId, generation: Generation) -> bool {
        let released = protocol.release(self.placements.get(id), generation);
        if released {
            if !protocol.keeps_released_rows() {
                self.placements.remove(id);
            } else if let Some(row) = self.placements.get_mut(id) {
                row.owner = None;
            }
        }
        released
    }

    /// Returns whether the node is new.
    pub(super) fn join(
        &mut self,
        protocol: &dyn Protocol,
        namespace: &str,
        node: &NodeId,
        ttl: Duration,
        now: Duration,
    ) -> Result<bool, ErrorKind> {
        let row = self.members.get(&node.incarnation());
        match protocol.join(row.map(|row| &row.lease), now) {
            JoinDecision::Insert => {
                let lease = Lease { deadline: now.saturating_add(ttl), renewals: 0, dead: false };
                let row = MemberRow { namespace: namespace.into(), node: node.clone(), ttl, lease };
                self.members.insert(node.incarnation(), row);
                Ok(true)
            }
            JoinDecision::Renew => self.prolong(node, now).map(|()| false),
            JoinDecision::Refuse => Err(ErrorKind::Fenced),
        }
    }

    pub(super) fn renew(
        &mut self,
        protocol: &dyn Protocol,
        node: &NodeId,
        now: Duration,
    ) -> Result<(), ErrorKind> {
        let lease = self.members.get(&node.incarnation()).map(|row| &row.lease);
        if protocol.renew(lease, now) { self.prolong(node, now) } else { Err(ErrorKind::Fenced) }
    }

    fn prolong(&mut self, node: &NodeId, now: Duration) -> Result<(), ErrorKind> {
        let row = self.members.get_mut(&node.incarnation()).ok_or(ErrorKind::Fenced)?;
        row.lease.deadline = now.saturating_add(row.ttl);
        row.lease.renewals += 1;
        Ok(())
    }

    /// Returns the result, and the namespace of the node.
    pub(super) fn evict(
        &mut self,
        protocol: &dyn Protocol,
        node: &NodeId,
        seen: u64,
        now: Duration,
    ) -> (Eviction, Option<Box<str>>) {
        let lease = self.members.get(&node.incarnation()).map(|row| &row.lease);
        let eviction = protocol.evict(lease, seen, now);
        let namespace = if eviction == Eviction::Recorded { self.leave(node) } else { None };
        (eviction, namespace)
    }

    /// Records the death. Returns the namespace of the node if it was alive.
    pub(super) fn leave(&mut self, node: &NodeId) -> Option<Box<str>> {
        let row = self.members.get_mut(&node.incarnation()).filter(|row| !row.lease.dead)?;
        row.lease.dead = true;
        Some(row.namespace.clone())
    }

    pub(super) fn members(&self, namespace: &str, now: Duration) -> Vec<Member> {
        let rows = self.members.values().filter(|row| &*row.namespace == namespace);
        rows.map(|row| Member {
            node: row.node.clone(),
            ttl: row.ttl,
            renewals: row.lease.renewals,
            remaining: row.lease.deadline.saturating_sub(now),
            state: decide::member_state(&row.lease, false, now),
        })
        .collect()
    }

    fn state(&self, id: &EntityId) -> Option<&StateRow> {
        self.states.get(&type_of(id))?.get(id.key())
    }

    /// Returns the state, or the error of the fence.
    pub(super) fn open(
        &mut self,
        protocol: &dyn Protocol,
        id: &EntityId,
        generation: Generation,
        token: ClaimToken,
    ) -> Result<Opened, Generation> {
        let fence = self.state(id).map(|row| (row.fence, row.token));
        let decision = protocol.open(fence, generation, token);
        if let (OpenDecision::Fenced, Some((fence, _))) = (decision, fence) {
            return Err(fence);
        }
        let states = self.states.entry(type_of(id)).or_default();
        let new = StateRow { fence: generation, token, etag: None, body: None };
        let row = states.entry(id.key().into()).or_insert(new);
        if decision == OpenDecision::Raise {
            (row.fence, row.token) = (generation, token);
        }
        Ok(Opened { etag: row.etag, body: row.body.clone() })
    }

    /// Writes the body; clears the state if it is `None`.
    pub(super) fn write(
        &mut self,
        protocol: &dyn Protocol,
        id: &EntityId,
        (generation, read, new): (Generation, Option<Etag>, Etag),
        body: Option<Bytes>,
    ) -> Result<(), ErrorKind> {
        protocol.save(self.state(id).map(|row| (row.fence, row.etag)), generation, read)?;
        let states = self.states.get_mut(&type_of(id)).ok_or(ErrorKind::NotFound)?;
        if body.is_none() && !protocol.keeps_cleared_rows() {
            states.remove(id.key());
            return Ok(());
        }
        let row = states.get_mut(id.key()).ok_or(ErrorKind::NotFound)?;
        (row.etag, row.body) = (Some(new), body);
        Ok(())
    }

    pub(super) fn read(&self, id: &EntityId) -> Option<Stored> {
        let row = self.state(id)?;
        Some(Stored { fence: row.fence, etag: row.etag, body: row.body.clone() })
    }

    pub(super) fn list(&self, namespace: &str, actor_type: &str, after: Option<&str>, limit: usize) -> Page {
        let Some(states) = self.states.get(&(namespace.into(), actor_type.into())) else {
            return Page::default();
        };
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = states.range::<str, _>((start, Bound::Unbounded));
        let keys = rows.filter(|(_, row)| row.body.is_some()).map(|(key, _)| key.to_string());
        Page::new(keys.take(limit.saturating_add(1)).collect(), limit)
    }
}

fn type_of(id: &EntityId) -> TypeKey {
    (id.namespace().into(), id.actor_type().into())
}
