//! Producer-Consumer with a Bounded Buffer: one actor between many producers and many consumers.
//!
//! A producer makes one item each time the manager requests it, and reports its last item. The manager hands an item
//! to a waiting consumer, or buffers it. It stops requesting items while its buffer is full, minus one place for each
//! producer, because each producer may have an item in flight. A consumer reports each time that it is available. The
//! buffer is part of the manager's state; all mailboxes are unbounded.
//!
//! The work per item is a hundredth of Savina's, because the benchmark measures the exchange. The answer is the
//! number of consumed items, and a checksum that does not depend on which consumer got which item.

mod dactor;
mod exchange;
mod kameo;
mod ractor;

use std::iter::{Sum, successors};

use ::dactor::System;
use bench_harness::Scale;

use super::{Benchmark, Idioms, Runs};
use exchange::{Deal, Exchange};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    buffer: usize,
    producers: usize,
    consumers: usize,
    items_per_producer: usize,
    cost: usize,
}

impl Config {
    fn exchange<P, C>(self) -> Exchange<P, C> {
        Exchange::new(self.buffer - self.producers, self.producers, self.consumers)
    }
}

/// The work per item.
fn process(item: u64, cost: usize) -> u64 {
    let step = |item: &u64| Some(item.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    successors(Some(item), step).nth(cost).unwrap_or(item)
}

/// The remaining items of a producer.
struct Production {
    item: u64,
    left: usize,
    cost: usize,
}

impl Production {
    fn new(config: Config, producer: usize) -> Self {
        Self { item: producer as u64, left: config.items_per_producer, cost: config.cost }
    }
}

impl Iterator for Production {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        self.item = process(self.item, self.cost);
        Some(self.item)
    }
}

/// The items that one consumer, or all of them, have consumed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Consumption {
    items: usize,
    checksum: u64,
}

impl Consumption {
    fn consume(&mut self, item: u64, cost: usize) {
        self.items += 1;
        self.checksum = self.checksum.wrapping_add(process(item, cost));
    }
}

impl Sum for Consumption {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            items: sum.items + one.items,
            checksum: sum.checksum.wrapping_add(one.checksum),
        })
    }
}

pub(crate) struct BoundedBuffer;

impl Benchmark for BoundedBuffer {
    const NAME: &'static str = "bounded_buffer";
    const ABOUT: &'static str =
        "Producers and consumers exchange items through an actor that has a bounded buffer.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = Consumption;

    fn config(scale: Scale) -> Config {
        match scale {
            Scale::Full => {
                Config { buffer: 50, producers: 40, consumers: 40, items_per_producer: 1_000, cost: 25 }
            }
            Scale::Quick => Config { buffer: 8, producers: 6, consumers: 3, items_per_producer: 50, cost: 5 },
        }
    }

    fn expected(config: Config) -> Consumption {
        let mut consumption = Consumption::default();
        for item in (0..config.producers).flat_map(|producer| Production::new(config, producer)) {
            consumption.consume(item, config.cost);
        }
        consumption
    }

    async fn dactor(system: &System, config: Config) -> Consumption {
        dactor::run(system, config).await
    }

    async fn ractor(config: Config) -> Consumption {
        ractor::run(config).await
    }

    async fn kameo(config: Config) -> Consumption {
        kameo::run(config).await
    }
}
