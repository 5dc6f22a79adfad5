//! Unbalanced Cobwebbed Tree: a tree of actors that grows, and is then traversed. Actors are spawned all over the
//! tree, and each waits for the replies of its children.
//!
//! The size of the tree is fixed; its shape is random, but the same in every run. A node that grows spawns its
//! children and lets them grow; a visited node does some work and visits its children. The answer is the number of
//! nodes, as they count themselves, and the sum of their work. Unlike in Savina's version, a node does not ask the
//! root whether it may have children, which would make the tree depend on timing; and no message is urgent.

mod dactor;
mod kameo;
mod ractor;

use ::dactor::System;
use bench_harness::Scale;

use super::random::mix;
use super::{Benchmark, Idioms, Runs};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    nodes: u64,
}

/// The maximum number of children of a node.
const BRANCHES: u64 = 10;

/// The plan of a node.
#[derive(Clone, Copy)]
struct Plan {
    seed: u64,
    /// The number of nodes in its subtree, including itself.
    nodes: u64,
}

impl Plan {
    fn root(config: Config) -> Self {
        Self { seed: 2, nodes: config.nodes }
    }

    /// The children; each takes a random share of the nodes that the previous ones have left.
    fn children(self) -> Vec<Self> {
        let mut left = self.nodes - 1;
        let child = |branch| {
            let seed = mix(self.seed.wrapping_add(branch));
            let nodes = if branch == BRANCHES { left } else { seed % (left + 1) };
            left -= nodes;
            Self { seed, nodes }
        };
        (1..=BRANCHES).map(child).filter(|child| child.nodes > 0).collect()
    }

    /// Up to two hundred steps of arithmetic.
    fn work(self) -> u64 {
        (0..self.seed % 200).fold(self.seed, |number, _| mix(number))
    }

    /// The work of the whole subtree.
    fn total_work(self) -> u64 {
        self.children().into_iter().map(Self::total_work).fold(self.work(), u64::wrapping_add)
    }
}

/// The report of the nodes.
#[derive(Debug, PartialEq)]
pub(crate) struct Harvest {
    nodes: u64,
    work: u64,
}

pub(crate) struct UnbalancedTree;

impl Benchmark for UnbalancedTree {
    const NAME: &'static str = "unbalanced_tree";
    const ABOUT: &'static str = "A tree of actors grows at random, is visited as a whole and is felled.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = Harvest;

    fn config(scale: Scale) -> Config {
        match scale {
            Scale::Full => Config { nodes: 10_000 },
            Scale::Quick => Config { nodes: 200 },
        }
    }

    fn expected(config: Config) -> Harvest {
        Harvest { nodes: config.nodes, work: Plan::root(config).total_work() }
    }

    async fn dactor(system: &System, config: Config) -> Harvest {
        dactor::run(system, config).await
    }

    async fn ractor(config: Config) -> Harvest {
        ractor::run(config).await
    }

    async fn kameo(config: Config) -> Harvest {
        kameo::run(config).await
    }
}
