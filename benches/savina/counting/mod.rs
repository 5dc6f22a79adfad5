//! Counting: one actor floods another. The benchmark measures a mailbox that is filled and emptied concurrently.
//!
//! The producer sends increments without waiting, then asks the counter for its value, which arrives after all of
//! them. That value is the answer.

mod dactor;
mod kameo;
mod ractor;

use ::dactor::System;
use bench_harness::Scale;

use super::{Benchmark, Idioms, Runs};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    increments: u64,
}

pub(crate) struct Counting;

impl Benchmark for Counting {
    const NAME: &'static str = "counting";
    const ABOUT: &'static str = "A producer sends increments to a counter, then asks for its value.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = u64;

    fn config(scale: Scale) -> Config {
        match scale {
            Scale::Full => Config { increments: 500_000 },
            Scale::Quick => Config { increments: 2_000 },
        }
    }

    fn expected(config: Config) -> u64 {
        config.increments
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
