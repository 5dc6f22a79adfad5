//! The list of benchmarks, and how to run one. To add a benchmark, write its folder and a line in [`ALL`].
//!
//! A folder has at least four files. `mod.rs` describes the benchmark, its sizes, its programs and the correct answer.
//! `dactor.rs` is one program for both backends; `ractor.rs` and `kameo.rs` are the same program, written for the native
//! crate.

mod benchmark;
mod measure;
mod random;
mod runs;
mod subject;

mod bank_transaction;
mod big;
mod bounded_buffer;
mod chameneos;
mod concurrent_dictionary;
mod concurrent_sorted_list;
mod counting;
mod dining_philosophers;
mod fork_join_create;
mod fork_join_throughput;
mod logistic_map;
mod n_queens;
mod ping_pong;
mod quicksort;
mod radix_sort;
mod sieve;
mod thread_ring;
mod unbalanced_tree;

pub(crate) use benchmark::{Benchmark, Entry, Idioms, entry};
pub(crate) use subject::Subject;

use runs::Runs;

/// Every benchmark, in the order of the report.
pub(crate) const ALL: &[Entry] = &[
    entry::<ping_pong::PingPong>(),
    entry::<thread_ring::ThreadRing>(),
    entry::<counting::Counting>(),
    entry::<fork_join_create::ForkJoinCreate>(),
    entry::<fork_join_throughput::ForkJoinThroughput>(),
    entry::<chameneos::Chameneos>(),
    entry::<big::Big>(),
    entry::<concurrent_dictionary::ConcurrentDictionary>(),
    entry::<concurrent_sorted_list::ConcurrentSortedList>(),
    entry::<bounded_buffer::BoundedBuffer>(),
    entry::<dining_philosophers::DiningPhilosophers>(),
    entry::<bank_transaction::BankTransaction>(),
    entry::<sieve::Sieve>(),
    entry::<n_queens::NQueens>(),
    entry::<radix_sort::RadixSort>(),
    entry::<quicksort::Quicksort>(),
    entry::<logistic_map::LogisticMap>(),
    entry::<unbalanced_tree::UnbalancedTree>(),
];
