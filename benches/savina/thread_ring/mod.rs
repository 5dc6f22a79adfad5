//! Thread Ring: one token in a ring of actors. One actor works at a time, and each hop wakes an actor that has been
//! idle for a whole round.
//!
//! The token counts its hops down. The answer is the position of the actor that gets it with no hop left.

mod dactor;
mod kameo;
mod ractor;

use ::dactor::System;
use bench_harness::Scale;
use tokio::sync::oneshot;

use super::{Benchmark, Idioms, Runs};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    actors: usize,
    hops: usize,
}

/// The token. It carries the channel back to the program, so that no actor needs one.
struct Token {
    hops_left: usize,
    home: oneshot::Sender<usize>,
}

impl Token {
    /// The token after one more hop; `None` if `place` was its last and has been reported.
    fn hop(self, place: usize) -> Option<Self> {
        match self.hops_left.checked_sub(1) {
            Some(hops_left) => Some(Self { hops_left, ..self }),
            None => {
                self.home.send(place).runs();
                None
            }
        }
    }
}

pub(crate) struct ThreadRing;

impl Benchmark for ThreadRing {
    const NAME: &'static str = "thread_ring";
    const ABOUT: &'static str = "A token goes round a ring of actors.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = usize;

    fn config(scale: Scale) -> Config {
        match scale {
            Scale::Full => Config { actors: 100, hops: 100_000 },
            Scale::Quick => Config { actors: 10, hops: 1_003 },
        }
    }

    fn expected(config: Config) -> usize {
        config.hops % config.actors
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
