//! What the benchmarks share: their command line, the order of their rounds, the figures taken over those, and
//! where the figures go.

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
