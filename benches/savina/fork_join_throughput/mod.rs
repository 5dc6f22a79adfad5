//! Fork Join (Throughput): messages to many actors in turn. Each message is a small computation without a reply.
//!
//! The program sends one message to every actor, then the next one to every actor, and so on. Finally it asks each
//! actor for the result of its computations. The answer is the sum.

mod dactor;
mod kameo;
mod ractor;

use ::dactor::System;
use bench_harness::Scale;

use super::fork_join_create::computation;
use super::{Benchmark, Idioms, Runs};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    actors: u32,
    messages_each: u32,
}

impl Config {
    /// The payloads of the messages to one actor, in order.
    fn angles(self) -> impl Iterator<Item = f64> + Send {
        (0..self.messages_each).map(f64::from)
    }
}

pub(crate) struct ForkJoinThroughput;

impl Benchmark for ForkJoinThroughput {
    const NAME: &'static str = "fork_join_throughput";
    const ABOUT: &'static str = "Messages go to many actors in turn, without waiting.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = u64;

    fn config(scale: Scale) -> Config {
        match scale {
            Scale::Full => Config { actors: 60, messages_each: 4_000 },
            Scale::Quick => Config { actors: 20, messages_each: 100 },
        }
    }

    fn expected(config: Config) -> u64 {
        u64::from(config.actors) * config.angles().map(computation).sum::<u64>()
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
