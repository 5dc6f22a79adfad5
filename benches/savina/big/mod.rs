//! Big: many-to-many messaging. Actors ping each other at random, so that every actor has many senders and
//! consecutive messages rarely come from the same one.
//!
//! An actor sends a ping, waits for the pong and sends the next ping to another actor, until it has sent all of its
//! pings; meanwhile it answers the pings of others. Every actor has its own random sequence, so the number of pings
//! that each actor gets is known in advance. These numbers are the answer.

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
    actors: usize,
    pings_each: u64,
}

/// The positions of the actors that one actor pings, in order; never its own.
struct Targets {
    own: usize,
    actors: usize,
    left: u64,
    random: Random,
}

impl Targets {
    fn of(own: usize, config: Config) -> Self {
        Self { own, actors: config.actors, left: config.pings_each, random: Random::new(own as u64) }
    }
}

impl Iterator for Targets {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let distance = 1 + self.random.below(self.actors - 1);
        Some((self.own + distance) % self.actors)
    }
}

/// Counts the actors that have all their pongs, and reports when the last one has.
struct Sink {
    left: usize,
    home: Option<oneshot::Sender<()>>,
}

impl Sink {
    fn new(config: Config, home: oneshot::Sender<()>) -> Self {
        Self { left: config.actors, home: Some(home) }
    }

    /// Returns whether this actor was the last.
    fn count(&mut self) -> bool {
        self.left -= 1;
        let last = self.left == 0;
        if let Some(home) = self.home.take_if(|_| last) {
            home.send(()).runs();
        }
        last
    }
}

pub(crate) struct Big;

impl Benchmark for Big {
    const NAME: &'static str = "big";
    const ABOUT: &'static str = "Many actors ping others at random and wait for each pong.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    /// The number of pings that each actor got.
    type Answer = Vec<u64>;

    fn config(scale: Scale) -> Config {
        match scale {
            Scale::Full => Config { actors: 120, pings_each: 2_000 },
            Scale::Quick => Config { actors: 12, pings_each: 50 },
        }
    }

    fn expected(config: Config) -> Vec<u64> {
        let mut pings = vec![0; config.actors];
        for target in (0..config.actors).flat_map(|own| Targets::of(own, config)) {
            pings[target] += 1;
        }
        pings
    }

    async fn dactor(system: &System, config: Config) -> Vec<u64> {
        dactor::run(system, config).await
    }

    async fn ractor(config: Config) -> Vec<u64> {
        ractor::run(config).await
    }

    async fn kameo(config: Config) -> Vec<u64> {
        kameo::run(config).await
    }
}
