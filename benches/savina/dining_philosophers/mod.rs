//! Dining Philosophers: actors compete for resources that one actor grants.
//!
//! A hungry philosopher asks the arbitrator for both its forks. If a neighbour has one of them the request is denied,
//! and the philosopher asks again immediately. After eating, it returns the forks and tells itself to begin the next
//! round. The number of denials depends on timing.
//!
//! Savina has 10 000 rounds. The answer is the number of meals of each philosopher, as counted by the arbitrator.

mod dactor;
mod kameo;
mod ractor;

use ::dactor::System;
use bench_harness::Scale;

use super::{Benchmark, Idioms, Runs};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    philosophers: usize,
    rounds: usize,
}

/// The state of the arbitrator.
struct Table {
    forks_in_use: Vec<bool>,
    meals: Vec<usize>,
}

impl Table {
    fn new(seats: usize) -> Self {
        Self { forks_in_use: vec![false; seats], meals: vec![0; seats] }
    }

    /// Grants both forks of this seat, or denies them.
    fn take_forks(&mut self, seat: usize) -> bool {
        let (left, right) = self.forks(seat);
        let free = !self.forks_in_use[left] && !self.forks_in_use[right];
        if free {
            self.forks_in_use[left] = true;
            self.forks_in_use[right] = true;
        }
        free
    }

    /// Takes the forks back after a meal.
    fn return_forks(&mut self, seat: usize) {
        let (left, right) = self.forks(seat);
        self.forks_in_use[left] = false;
        self.forks_in_use[right] = false;
        self.meals[seat] += 1;
    }

    fn forks(&self, seat: usize) -> (usize, usize) {
        (seat, (seat + 1) % self.forks_in_use.len())
    }
}

pub(crate) struct DiningPhilosophers;

impl Benchmark for DiningPhilosophers {
    const NAME: &'static str = "dining_philosophers";
    const ABOUT: &'static str = "Philosophers ask one arbitrator for their forks until they get them.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = Vec<usize>;

    fn config(scale: Scale) -> Config {
        match scale {
            Scale::Full => Config { philosophers: 20, rounds: 2_000 },
            Scale::Quick => Config { philosophers: 5, rounds: 50 },
        }
    }

    fn expected(config: Config) -> Vec<usize> {
        vec![config.rounds; config.philosophers]
    }

    async fn dactor(system: &System, config: Config) -> Vec<usize> {
        dactor::run(system, config).await
    }

    async fn ractor(config: Config) -> Vec<usize> {
        ractor::run(config).await
    }

    async fn kameo(config: Config) -> Vec<usize> {
        kameo::run(config).await
    }
}
