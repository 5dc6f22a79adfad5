//! Unbalanced Cobwebbed Tree: a tree of actors that grows by itself, and is then visited as a whole. Actors come into
//! being all over the tree, and each waits for as many answers as it has children.
//!
//! How large the tree becomes is given; how it spreads is random, but the same in every run. A node that is to grow
//! spawns its children and lets them grow; a node that is visited does some work and visits its children. The answer
//! is the number of nodes, as they count themselves, and the sum of their work. Unlike Savina's, no node asks the root
//! whether it may have children, which would make the tree depend on who asks first; and none is urgent.

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

/// How many children a node has at the most.
const BRANCHES: u64 = 10;

/// What will become of a node.
#[derive(Clone, Copy)]
struct Plan {
    seed: u64,
    /// In its subtree, with itself.
    nodes: u64,
}

impl Plan {
    fn root(config: Config) -> Self {
        Self { seed: 2, nodes: config.nodes }
    }

    /// Children, each of which takes a random share of the nodes that its elder siblings have left.
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

/// What the nodes report.
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
