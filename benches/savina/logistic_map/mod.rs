//! Logistic Map: request and reply between pairs of busy actors. A worker keeps one series and asks its computer for
//! each next term, so requests pile up in its mailbox while it waits for a reply.
//!
//! The program requests one more term of each series in turn, and finally the last terms. The answer is their sum.

mod dactor;
mod kameo;
mod ractor;

use ::dactor::System;
use bench_harness::Scale;

use super::{Benchmark, Idioms, Runs};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    series: u32,
    terms: u32,
}

/// A series in which each term follows from the previous term and the rate.
#[derive(Clone, Copy)]
struct Series {
    rate: f64,
    first: f64,
}

impl Config {
    fn series(self) -> impl Iterator<Item = Series> {
        const FIRST_RATE: f64 = 3.46;
        const STEP: f64 = 0.0025;
        (1..=self.series)
            .map(|place| f64::from(place) * STEP)
            .map(|steps| Series { rate: FIRST_RATE + steps, first: steps })
    }
}

fn next_term(rate: f64, term: f64) -> f64 {
    rate * term * (1.0 - term)
}

pub(crate) struct LogisticMap;

impl Benchmark for LogisticMap {
    const NAME: &'static str = "logistic_map";
    const ABOUT: &'static str = "Workers ask their computers for the next term of a series, again and again.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = f64;

    fn config(scale: Scale) -> Config {
        match scale {
            Scale::Full => Config { series: 10, terms: 25_000 },
            Scale::Quick => Config { series: 3, terms: 100 },
        }
    }

    fn expected(config: Config) -> f64 {
        let last = |Series { rate, first }| (0..config.terms).fold(first, |term, _| next_term(rate, term));
        config.series().map(last).sum()
    }

    async fn dactor(system: &System, config: Config) -> f64 {
        dactor::run(system, config).await
    }

    async fn ractor(config: Config) -> f64 {
        ractor::run(config).await
    }

    async fn kameo(config: Config) -> f64 {
        kameo::run(config).await
    }
}
