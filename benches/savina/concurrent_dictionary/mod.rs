//! Concurrent Dictionary: many actors ask one. Each worker waits for its reply before it asks again, so the benchmark
//! measures round trips.
//!
//! A worker reads and writes entries of the dictionary; most requests are reads. All workers use one dictionary, but
//! each has its own keys, so its replies do not depend on the other workers. The answer is the sum of the replies.

mod dactor;
mod kameo;
mod ractor;

use std::collections::HashMap;

use ::dactor::System;
use bench_harness::Scale;

use super::random::Random;
use super::{Benchmark, Idioms, Runs};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    workers: usize,
    requests_each: usize,
    write_percent: usize,
    keys_each: usize,
}

enum Request {
    Read { key: usize },
    Write { key: usize, value: usize },
}

/// The requests of one worker, in order.
struct Requests {
    worker: usize,
    left: usize,
    config: Config,
    random: Random,
}

impl Requests {
    fn of(worker: usize, config: Config) -> Self {
        Self { worker, left: config.requests_each, config, random: Random::new(worker as u64) }
    }
}

impl Iterator for Requests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        let key = self.worker + self.config.workers * self.random.below(self.config.keys_each);
        let writes = self.random.below(100) < self.config.write_percent;
        Some(if writes { Request::Write { key, value: self.left } } else { Request::Read { key } })
    }
}

/// The dictionary. An entry that was never written is zero.
#[derive(Default)]
struct Dictionary {
    entries: HashMap<usize, usize>,
}

impl Dictionary {
    fn read(&self, key: usize) -> usize {
        self.entries.get(&key).copied().unwrap_or_default()
    }

    /// Returns the previous value.
    fn write(&mut self, key: usize, value: usize) -> usize {
        self.entries.insert(key, value).unwrap_or_default()
    }
}

pub(crate) struct ConcurrentDictionary;

impl Benchmark for ConcurrentDictionary {
    const NAME: &'static str = "concurrent_dictionary";
    const ABOUT: &'static str =
        "Workers ask a dictionary to read and write entries, and wait for each reply.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = usize;

    fn config(scale: Scale) -> Config {
        let config = Config { workers: 20, requests_each: 10_000, write_percent: 10, keys_each: 500 };
        match scale {
            Scale::Full => config,
            Scale::Quick => Config { requests_each: 50, keys_each: 5, ..config },
        }
    }

    fn expected(config: Config) -> usize {
        let mut dictionary = Dictionary::default();
        let requests = (0..config.workers).flat_map(|worker| Requests::of(worker, config));
        let replies = requests.map(|request| match request {
            Request::Read { key } => dictionary.read(key),
            Request::Write { key, value } => dictionary.write(key, value),
        });
        replies.sum()
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
