//! The benchmarks, and how one of them is run. To add one, write its folder and its line in [`ALL`].
//!
//! A folder has four files. `mod.rs` says what the benchmark is, its sizes, what its programs compute and which
//! answer is right. `dactor.rs` is one program for both backends; `ractor.rs` and `kameo.rs` are the same program
//! written for the native crate.

mod benchmark;
mod measure;
mod runs;
mod subject;

mod logistic_map;
mod ping_pong;
mod quicksort;
mod radix_sort;
mod thread_ring;
mod unbalanced_tree;

pub(crate) use benchmark::{Benchmark, Entry, Idioms, entry};
pub(crate) use subject::Subject;

use runs::Runs;

/// Every benchmark, in the order of the report.
pub(crate) const ALL: &[Entry] = &[
    entry::<ping_pong::PingPong>(),
    entry::<thread_ring::ThreadRing>(),
    entry::<radix_sort::RadixSort>(),
    entry::<quicksort::Quicksort>(),
    entry::<logistic_map::LogisticMap>(),
    entry::<unbalanced_tree::UnbalancedTree>(),
];
