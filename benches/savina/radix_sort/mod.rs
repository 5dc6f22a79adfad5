//! Radix Sort: a pipeline with one actor per bit, through which every value streams. Many messages are in flight, and
//! an idle stage waits for the previous one.
//!
//! A stage passes a value on if its bit is not set, and buffers it otherwise; after the last value it passes on the
//! buffered values, and stops. After the last stage an actor validates the order. Its verdict is the answer.

mod dactor;
mod kameo;
mod ractor;

use std::mem;

use ::dactor::System;
use bench_harness::Scale;
use tokio::sync::oneshot;

use super::random::Random;
use super::{Benchmark, Idioms, Runs};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    values: usize,
    bits: u32,
}

impl Config {
    /// The random numbers to sort, with one bit per stage.
    fn values(self) -> impl Iterator<Item = u64> {
        const SEED: u64 = 2_048;
        Random::new(SEED).map(move |number| number >> (u64::BITS - self.bits)).take(self.values)
    }

    /// The stages from last to first: the order in which their actors are spawned.
    fn stages(self) -> impl Iterator<Item = Stage> {
        (0..self.bits).rev().map(move |bit| Stage { bit: 1 << bit, left: self.values, kept: Vec::new() })
    }
}

/// The state of one stage.
struct Stage {
    bit: u64,
    left: usize,
    kept: Vec<u64>,
}

impl Stage {
    /// The value, if the stage passes it on now.
    fn sift(&mut self, value: u64) -> Option<u64> {
        self.left -= 1;
        if value & self.bit == 0 {
            return Some(value);
        }
        self.kept.push(value);
        None
    }

    /// The buffered values, after the last value.
    fn rest(&mut self) -> Option<Vec<u64>> {
        (self.left == 0).then(|| mem::take(&mut self.kept))
    }
}

/// The validation result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Verdict {
    in_order: bool,
    sum: u64,
}

/// The state of the validating actor.
struct Validation {
    left: usize,
    last: u64,
    verdict: Verdict,
    home: Option<oneshot::Sender<Verdict>>,
}

impl Validation {
    fn new(config: Config, home: oneshot::Sender<Verdict>) -> Self {
        let verdict = Verdict { in_order: true, sum: 0 };
        Self { left: config.values, last: 0, verdict, home: Some(home) }
    }

    /// Returns whether this value is the last; if so, the verdict has been sent.
    fn is_last(&mut self, value: u64) -> bool {
        self.verdict.in_order &= self.last <= value;
        self.verdict.sum = self.verdict.sum.wrapping_add(value);
        self.last = value;
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        if let Some(home) = self.home.take() {
            home.send(self.verdict).runs();
        }
        true
    }
}

pub(crate) struct RadixSort;

impl Benchmark for RadixSort {
    const NAME: &'static str = "radix_sort";
    const ABOUT: &'static str = "Values stream through a pipeline of actors, each of which sorts by one bit.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = Verdict;

    fn config(scale: Scale) -> Config {
        match scale {
            Scale::Full => Config { values: 10_000, bits: 60 },
            Scale::Quick => Config { values: 100, bits: 10 },
        }
    }

    fn expected(config: Config) -> Verdict {
        Verdict { in_order: true, sum: config.values().fold(0, u64::wrapping_add) }
    }

    async fn dactor(system: &System, config: Config) -> Verdict {
        dactor::run(system, config).await
    }

    async fn ractor(config: Config) -> Verdict {
        ractor::run(config).await
    }

    async fn kameo(config: Config) -> Verdict {
        kameo::run(config).await
    }
}
