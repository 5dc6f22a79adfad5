//! N-Queens: a master distributes work, and each piece of work may produce more.
//!
//! A worker gets a board with queens in its first rows. Up to the threshold it sends the master each board with one
//! more queen; beyond the threshold it solves the board alone and sends one message for each solution. Then it
//! reports that it is done. The master distributes boards to its workers in turn, and stops when all boards are done.
//!
//! Savina stops after a number of solutions that by default exceeds the total, so the answer is the total number of
//! solutions. Savina's priorities are for other mailboxes, and are left out.

mod board;
mod dactor;
mod kameo;
mod ractor;

use ::dactor::System;
use bench_harness::Scale;

use super::{Benchmark, Idioms, Runs};
use board::Board;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    size: usize,
    threshold: usize,
    workers: usize,
}

impl Config {
    /// Whether a worker solves this board alone.
    fn is_small(self, board: &Board) -> bool {
        board.rows() >= self.threshold
    }
}

/// The counters of the master.
#[derive(Default)]
struct Tally {
    handed_out: usize,
    done: usize,
    solutions: usize,
}

impl Tally {
    fn is_complete(&self) -> bool {
        self.done == self.handed_out
    }
}

pub(crate) struct NQueens;

impl Benchmark for NQueens {
    const NAME: &'static str = "n_queens";
    const ABOUT: &'static str =
        "A master hands boards to workers, who give it larger ones and solutions back.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = usize;

    fn config(scale: Scale) -> Config {
        match scale {
            Scale::Full => Config { size: 12, threshold: 4, workers: 20 },
            Scale::Quick => Config { size: 6, threshold: 2, workers: 4 },
        }
    }

    fn expected(config: Config) -> usize {
        Board::EMPTY.solutions(config.size)
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
