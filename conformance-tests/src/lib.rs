//! The rules that every dactor adapter keeps, as a test suite.
//!
//! An adapter's whole conformance test is one call in a test with `harness = false`:
//!
//! ```no_run
//! # use dactor_conformance::{Reference, Style};
//! fn main() -> std::process::ExitCode {
//!     dactor_conformance::run(Reference::new(Style::Resident))
//! }
//! ```
//!
//! where the argument is your [`Subject`]: a name, the backend, and a [`NativeProbe`] by which the suite acts
//! on the native actor behind the back of the core. Every rule runs on a current-thread and on a two-worker
//! runtime. A rule added later reaches every adapter by itself.
//!
//! | environment variable | meaning |
//! | --- | --- |
//! | `DACTOR_CONFORMANCE_REPORT` | an absolute path of a directory: results are written to `<subject>.jsonl` in it |
//! | `DACTOR_CONFORMANCE_KEEP_GOING` | 1 runs all rules; otherwise none is begun after ten failures |
//! | `DACTOR_CONFORMANCE_SILENCE_MS` | how long nothing must happen to count as silence; 50 |
//! | `DACTOR_CONFORMANCE_WATCHDOG_S` | how long a rule may take; 30 |
//! | `DACTOR_CONFORMANCE_SEED` | the seed of the rules that race; printed when one of them fails |
//! | `DACTOR_RANDOM_SECONDS` | how long each search of [random programs](random) goes on, and 0 is not at all; 10 |
//! | `DACTOR_RANDOM_SEED`, `DACTOR_RANDOM_PROGRAM` | the only program of that search, as a failure prints it |
//! | `DACTOR_RANDOM_ALL` | if set, the search goes on after a finding, and shows one of each kind |
//! | `DACTOR_RANDOM_PROGRESS` | if set, the search says every five seconds how far it is |
//!
//! The kit tests itself: every rule passes on two [reference backends](Reference), and every
//! [deliberately broken one](mutants) is caught by the rules that name it.

mod actors;
pub mod broken;
mod check;
mod coverage;
mod lab;
pub mod mutants;
pub mod pages;
pub mod random;
mod reference;
mod report;
mod rule;
mod rules;
mod run;
mod subject;

pub use check::{Flavor, Settings, Verdict, check};
pub use coverage::{REASONS, Reason, holes};
pub use lab::Lab;
pub use reference::{Handle, Reference, Style};
pub use report::{Outcome, Record};
pub use rule::{Body, Capability, Level, Pace, Rule, State, Tag, Topic};
pub use rules::rules;
pub use run::{run, trials};
pub use subject::{Native, NativeExit, NativeProbe, Subject, Task, Watch};
