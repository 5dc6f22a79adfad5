//! The shared part of the benchmarks: command line, interleaved rounds, medians and ratios, output files.

mod chart;
mod figures;
mod files;
mod options;
mod rounds;

pub use chart::{Bar, Chart, Group};
pub use figures::{geometric_mean, median, rounded};
pub use files::Files;
pub use options::{Options, Scale};
pub use rounds::Rounds;
