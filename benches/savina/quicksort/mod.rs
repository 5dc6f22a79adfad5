//! Quicksort: a divide-and-conquer tree of actors. Each actor sorts a fragment and stops when its parent has the
//! result; whole vectors are sent as messages.
//!
//! An actor with a long fragment splits it by a pivot, and spawns one child for the values below and one for the
//! values above. The answer is a digest of the sorted values, in which each value is weighted by its position.

mod dactor;
mod kameo;
mod ractor;

use ::dactor::System;
use bench_harness::Scale;
use tokio::sync::oneshot;

use super::random::Random;
use super::{Benchmark, Idioms, Runs};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    values: usize,
    threshold: usize,
}

impl Config {
    /// The random numbers to sort.
    fn values(self) -> Vec<u64> {
        const SEED: u64 = 1_024;
        Random::new(SEED).take(self.values).collect()
    }
}

fn digest(sorted: &[u64]) -> u64 {
    (1..).zip(sorted).fold(0, |digest: u64, (place, value)| digest.wrapping_add(value.wrapping_mul(place)))
}

/// The position of a child's values.
#[derive(Clone, Copy)]
enum Side {
    Below,
    Above,
}

/// The receiver of a sorted fragment. `R` is a reference to an actor.
enum Parent<R> {
    Sorter(R, Side),
    Program(oneshot::Sender<Vec<u64>>),
}

/// The state of an actor.
struct Fragment<R> {
    threshold: usize,
    parent: Option<Parent<R>>,
    below: Option<Vec<u64>>,
    equal: Vec<u64>,
    above: Option<Vec<u64>>,
}

/// The next step for a fragment.
enum Step {
    /// Send the sorted values to the parent.
    Sorted(Vec<u64>),
    /// Split the values between two children.
    Split([(Side, Vec<u64>); 2]),
}

impl<R> Fragment<R> {
    fn new(threshold: usize, parent: Parent<R>) -> Self {
        Self { threshold, parent: Some(parent), below: None, equal: Vec::new(), above: None }
    }

    fn sort(&mut self, mut values: Vec<u64>) -> Step {
        if values.len() < self.threshold {
            values.sort_unstable();
            return Step::Sorted(values);
        }
        let pivot = values[values.len() / 2];
        let (below, rest) = values.into_iter().partition(|&value| value < pivot);
        let (equal, above) = Vec::into_iter(rest).partition(|&value| value == pivot);
        self.equal = equal;
        Step::Split([(Side::Below, below), (Side::Above, above)])
    }

    /// All sorted values, if both children have reported.
    fn merge(&mut self, side: Side, sorted: Vec<u64>) -> Option<Vec<u64>> {
        match side {
            Side::Below => self.below = Some(sorted),
            Side::Above => self.above = Some(sorted),
        }
        Some([self.below.as_ref()?, &self.equal, self.above.as_ref()?].map(Vec::as_slice).concat())
    }
}

pub(crate) struct Quicksort;

impl Benchmark for Quicksort {
    const NAME: &'static str = "quicksort";
    const ABOUT: &'static str = "Actors split their values, let two children sort them and join the results.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = u64;

    fn config(scale: Scale) -> Config {
        match scale {
            Scale::Full => Config { values: 1_000_000, threshold: 2_048 },
            Scale::Quick => Config { values: 1_000, threshold: 100 },
        }
    }

    fn expected(config: Config) -> u64 {
        let mut values = config.values();
        values.sort_unstable();
        digest(&values)
    }

    async fn dactor(system: &System, config: Config) -> u64 {
        dactor::run(system, config).await
    }

    async fn ractor(config: Config) -> u64 {
        ractor::run(config).await
    }

    async fn kameo(config: Config) -> u64 {
        kameo::run(config).await
    }
}
