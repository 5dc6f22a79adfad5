//! Placement of actors: pure functions over a list of members.

use std::borrow::Cow;
use std::collections::BTreeSet;

use dactor_engine::{EntityId, NodeId};

/// A member of the cluster, as seen by placement.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// The node.
    pub node: NodeId,
    /// Its number of activations.
    pub load: usize,
    /// Its roles.
    pub roles: BTreeSet<String>,
}

impl Candidate {
    /// A member without load and roles.
    pub fn new(node: NodeId) -> Self {
        Self { node, load: 0, roles: BTreeSet::new() }
    }

    /// Sets the number of activations.
    #[must_use]
    pub fn load(mut self, load: usize) -> Self {
        self.load = load;
        self
    }

    /// Adds a role.
    #[must_use]
    pub fn role(mut self, role: impl Into<String>) -> Self {
        self.roles.insert(role.into());
        self
    }
}

/// How to choose the node of an inactive actor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PlacementStrategy {
    /// The node that sends the first message, if it is a candidate; otherwise a random one.
    #[default]
    PreferLocal,
    /// A random node.
    Random,
    /// The node with the fewest activations; on a tie, the local node or else the first.
    LeastLoaded,
    /// The node selected by the hash of the id. When a node joins or leaves, only its own ids move.
    Hash,
    /// A node with this role, by [`Hash`](Self::Hash).
    Pinned {
        /// The role.
        role: Cow<'static, str>,
    },
}

/// Where to activate an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlacementDecision {
    /// On this node.
    Here,
    /// On another node.
    On(NodeId),
    /// No member is allowed to run the actor.
    Nowhere,
}

impl PlacementStrategy {
    /// Decides the placement of an actor. `random` is a random number for the strategies that need one.
    pub fn place(
        &self,
        id: &EntityId,
        local: &NodeId,
        members: &[Candidate],
        random: u64,
    ) -> PlacementDecision {
        let at_random = || members.get(usize::try_from(random % members.len().max(1) as u64).unwrap_or(0));
        let chosen = match self {
            Self::PreferLocal => members.iter().find(|member| member.node == *local).or_else(at_random),
            Self::Random => at_random(),
            Self::LeastLoaded => members.iter().min_by_key(|member| (member.load, member.node != *local)),
            Self::Hash => members.iter().max_by_key(|member| weight(id, &member.node)),
            Self::Pinned { role } => members
                .iter()
                .filter(|member| member.roles.contains(&**role))
                .max_by_key(|member| weight(id, &member.node)),
        };
        match chosen {
            None => PlacementDecision::Nowhere,
            Some(member) if member.node == *local => PlacementDecision::Here,
            Some(member) => PlacementDecision::On(member.node.clone()),
        }
    }
}

/// Rendezvous hashing: each pair of id and node has a weight, and the node with the highest weight wins. Uses
/// the address, so that a restarted node gets its ids back.
fn weight(id: &EntityId, node: &NodeId) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for text in [id.namespace(), id.actor_type(), id.key(), node.address()] {
        for byte in text.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    // FNV mixes the last bytes poorly into the high bits.
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn members(count: usize) -> Vec<Candidate> {
        (0..count).map(|n| Candidate::new(NodeId::start(&format!("10.0.0.{n}:4000")))).collect()
    }

    fn id(key: usize) -> EntityId {
        EntityId::new("bank", "Account", &key.to_string()).unwrap()
    }

    #[test]
    fn local_and_random() {
        let nodes = members(3);
        let local = nodes[1].node.clone();
        let place = |strategy: PlacementStrategy, random| strategy.place(&id(0), &local, &nodes, random);
        assert_eq!(place(PlacementStrategy::PreferLocal, 0), PlacementDecision::Here);
        assert_eq!(place(PlacementStrategy::Random, 0), PlacementDecision::On(nodes[0].node.clone()));
        assert_eq!(place(PlacementStrategy::Random, 4), PlacementDecision::Here);
        let stranger = NodeId::start("10.0.0.9:4000");
        let away = PlacementStrategy::PreferLocal.place(&id(0), &stranger, &nodes, 2);
        assert_eq!(away, PlacementDecision::On(nodes[2].node.clone()));
    }

    #[test]
    fn the_least_loaded() {
        let mut nodes = members(3);
        nodes[0].load = 5;
        nodes[1].load = 2;
        nodes[2].load = 2;
        let least = |local: &NodeId| PlacementStrategy::LeastLoaded.place(&id(0), local, &nodes, 0);
        assert_eq!(least(&nodes[2].node), PlacementDecision::Here);
        assert_eq!(least(&nodes[0].node), PlacementDecision::On(nodes[1].node.clone()));
    }

    #[test]
    fn a_node_that_leaves_moves_only_its_own() {
        let nodes = members(4);
        let local = nodes[0].node.clone();
        let place =
            |key, members: &[Candidate]| match PlacementStrategy::Hash.place(&id(key), &local, members, 0) {
                PlacementDecision::Here => local.clone(),
                PlacementDecision::On(node) => node,
                PlacementDecision::Nowhere => panic!(),
            };
        let mut count = HashMap::<_, usize>::new();
        for key in 0..4000 {
            let before = place(key, &nodes);
            let after = place(key, &nodes[..3]);
            assert!(before == after || before == nodes[3].node);
            *count.entry(before).or_default() += 1;
        }
        assert!(count.values().all(|count| (800..1200).contains(count)), "{count:?}");
    }

    #[test]
    fn pinned_to_a_role() {
        let mut nodes = members(3);
        let pinned = PlacementStrategy::Pinned { role: "gpu".into() };
        assert_eq!(pinned.place(&id(0), &nodes[0].node, &nodes, 0), PlacementDecision::Nowhere);
        nodes[2].roles.insert("gpu".into());
        for key in 0..20 {
            let decision = pinned.place(&id(key), &nodes[0].node, &nodes, 0);
            assert_eq!(decision, PlacementDecision::On(nodes[2].node.clone()));
        }
    }

    #[test]
    fn nobody_there() {
        for strategy in [PlacementStrategy::PreferLocal, PlacementStrategy::Random, PlacementStrategy::Hash] {
            assert_eq!(strategy.place(&id(0), &NodeId::start("a"), &[], 7), PlacementDecision::Nowhere);
        }
    }
}
