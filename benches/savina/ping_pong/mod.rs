//! Ping-Pong: the cost of a single message between two actors, including the wake-up of the receiver.
//!
//! The pinger sends a ping with its own reference, the ponger answers with a pong, and so on. The answer is the
//! number of pings that the ponger has counted when the pinger gets its last pong.

mod dactor;
mod kameo;
mod ractor;

use ::dactor::System;
use bench_harness::Scale;

use super::{Benchmark, Idioms, Runs};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    pings: u64,
}

pub(crate) struct PingPong;

impl Benchmark for PingPong {
    const NAME: &'static str = "ping_pong";
    const ABOUT: &'static str = "Two actors send one message back and forth.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = u64;

    fn config(scale: Scale) -> Config {
        match scale {
            Scale::Full => Config { pings: 40_000 },
            Scale::Quick => Config { pings: 400 },
        }
    }

    fn expected(config: Config) -> u64 {
        config.pings
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
