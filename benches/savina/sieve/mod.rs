//! Sieve of Eratosthenes: a pipeline that grows while numbers flow through it.
//!
//! The source sends all odd numbers to the first filter. A filter drops the multiples of its primes, stores further
//! primes until it is full, and then passes candidates on; the first of these spawns a new filter. The last message
//! passes through all filters, adds up their primes and stops them. The answer is the number of primes.

mod dactor;
mod kameo;
mod ractor;

use ::dactor::System;
use bench_harness::Scale;
use tokio::sync::oneshot;

use super::{Benchmark, Idioms, Runs};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    limit: u64,
    primes_per_filter: usize,
}

impl Config {
    /// The candidates of the source; the first filter starts with 2.
    fn candidates(self) -> impl Iterator<Item = u64> {
        (3..self.limit).step_by(2)
    }
}

/// The primes of one filter.
struct Primes {
    held: Vec<u64>,
    at_most: usize,
}

impl Primes {
    fn starting_with(prime: u64, at_most: usize) -> Self {
        let mut held = Vec::with_capacity(at_most);
        held.push(prime);
        Self { held, at_most }
    }

    /// The candidate, if it goes to the next filter: no prime here divides it, and this filter is full.
    fn sift(&mut self, candidate: u64) -> Option<u64> {
        if self.held.iter().any(|prime| candidate.is_multiple_of(*prime)) {
            return None;
        }
        if self.held.len() == self.at_most {
            return Some(candidate);
        }
        self.held.push(candidate);
        None
    }
}

/// The message after the last candidate. It carries the number of primes back to the program.
struct Finish {
    primes: usize,
    home: oneshot::Sender<usize>,
}

impl Finish {
    /// Adds the primes of one more filter.
    fn add(mut self, primes: &Primes) -> Self {
        self.primes += primes.held.len();
        self
    }

    fn report(self) {
        self.home.send(self.primes).runs();
    }
}

pub(crate) struct Sieve;

impl Benchmark for Sieve {
    const NAME: &'static str = "sieve";
    const ABOUT: &'static str = "Numbers flow through a pipeline of prime filters, which spawns its own end.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = usize;

    fn config(scale: Scale) -> Config {
        match scale {
            Scale::Full => Config { limit: 100_000, primes_per_filter: 1_000 },
            Scale::Quick => Config { limit: 2_000, primes_per_filter: 50 },
        }
    }

    fn expected(config: Config) -> usize {
        let is_prime =
            |&number: &u64| (2..).take_while(|n| n * n <= number).all(|n| !number.is_multiple_of(n));
        (2..config.limit).filter(is_prime).count()
    }

    async fn dactor(system: &System, config: Config) -> usize {
        dactor::run(system, config).await
    }

    async fn ractor(config: Config) -> usize {
        ractor::run(config).await
    }

    async fn kameo(config: Config) -> usize {
        kameo::run(config).await
    }
}
