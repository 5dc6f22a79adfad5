//! Concurrent Sorted Linked-List: many actors ask one, which does little work per request.
//!
//! Every worker asks the list to insert a value, to look one up, or for its size, in proportions that the percentages
//! define, and waits for each reply. Savina has 8 000 requests per worker; the list would then be so long that
//! walking it would dominate the time.
//!
//! Workers use disjoint values, so that the result of a lookup does not depend on the progress of the others. The
//! answer is the final content of the list, and the results of the workers.

mod dactor;
mod kameo;
mod list;
mod ractor;

use std::iter::Sum;

use ::dactor::System;
use bench_harness::Scale;

use super::random::savina;
use super::{Benchmark, Idioms, Runs};
use list::SortedList;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    workers: u64,
    requests: usize,
    write_percentage: u64,
    size_percentage: u64,
}

#[derive(Debug, Clone, Copy)]
enum Request {
    Write(u64),
    Contains(u64),
    Size,
}

impl Config {
    /// The requests of this worker, in order.
    fn requests_of(self, worker: u64) -> impl Iterator<Item = Request> {
        /// Few enough values that some lookups of a worker succeed.
        const VALUES: u64 = 1_000;
        let mut random = savina(worker);
        let mut below = move |limit| random.next().map_or(0, |number| number % limit);
        let request = move || {
            let (percent, value) = (below(100), below(VALUES) * self.workers + worker);
            match percent {
                _ if percent < self.size_percentage => Request::Size,
                _ if percent < self.size_percentage + self.write_percentage => Request::Write(value),
                _ => Request::Contains(value),
            }
        };
        std::iter::repeat_with(request).take(self.requests)
    }
}

/// The result of a worker.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Findings {
    written: usize,
    found: usize,
    /// The number of plausible sizes: the list is at least as long as the number of values the worker has inserted.
    plausible_sizes: usize,
}

impl Findings {
    fn written(&mut self) {
        self.written += 1;
    }

    fn contained(&mut self, contained: bool) {
        self.found += usize::from(contained);
    }

    fn size(&mut self, size: usize) {
        self.plausible_sizes += usize::from(size >= self.written);
    }
}

impl Sum for Findings {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            written: sum.written + one.written,
            found: sum.found + one.found,
            plausible_sizes: sum.plausible_sizes + one.plausible_sizes,
        })
    }
}

#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    findings: Findings,
    /// The checksum of the final list.
    checksum: u64,
}

pub(crate) struct ConcurrentSortedList;

impl Benchmark for ConcurrentSortedList {
    const NAME: &'static str = "concurrent_sorted_list";
    const ABOUT: &'static str =
        "Many actors ask a single actor that keeps a sorted linked list, and wait for each reply.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = Answer;

    fn config(scale: Scale) -> Config {
        let (workers, requests) = match scale {
            Scale::Full => (20, 1_000),
            Scale::Quick => (5, 100),
        };
        Config { workers, requests, write_percentage: 10, size_percentage: 1 }
    }

    fn expected(config: Config) -> Answer {
        let mut list = SortedList::default();
        let mut work = |worker| {
            let mut findings = Findings::default();
            for request in config.requests_of(worker) {
                match request {
                    Request::Write(value) => {
                        list.write(value);
                        findings.written();
                    }
                    Request::Contains(value) => findings.contained(list.contains(value)),
                    Request::Size => findings.size(list.size()),
                }
            }
            findings
        };
        let findings = (0..config.workers).map(&mut work).sum();
        Answer { findings, checksum: list.checksum() }
    }

    async fn dactor(system: &System, config: Config) -> Answer {
        dactor::run(system, config).await
    }

    async fn ractor(config: Config) -> Answer {
        ractor::run(config).await
    }

    async fn kameo(config: Config) -> Answer {
        kameo::run(config).await
    }
}
