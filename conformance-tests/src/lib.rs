//! A test suite with the rules that every dactor adapter must satisfy.
//!
//! The conformance test of an adapter is one call in a test target with `harness = false`:
//!
//! ```no_run
//! # use dactor_conformance::{Reference, Style};
//! fn main() -> std::process::ExitCode {
//!     dactor_conformance::run(Reference::new(Style::Resident))
//! }
//! ```
//!
//! The argument is your [`Subject`]: a name, the backend, and a [`NativeProbe`] that lets the suite act on native
//! actors without the core's knowledge. Every rule runs on a current-thread runtime and on a runtime with two
//! workers. New rules apply to every adapter automatically.
//!
//! | environment variable | meaning |
//! | --- | --- |
//! | `DACTOR_CONFORMANCE_REPORT` | absolute path of a directory; results are written to `<subject>.jsonl` in it |
//! | `DACTOR_CONFORMANCE_KEEP_GOING` | `1` runs all rules; otherwise the run stops after ten failures |
//! | `DACTOR_CONFORMANCE_SILENCE_MS` | how long an unexpected event is waited for; 50 |
//! | `DACTOR_CONFORMANCE_WATCHDOG_S` | time limit of a rule; 30 |
//! | `DACTOR_CONFORMANCE_SEED` | seed of the rules that race; printed when one of them fails |
//! | `DACTOR_RANDOM_SECONDS` | duration of each search of [random programs](random), `0` to skip them; 10 |
//! | `DACTOR_RANDOM_SEED`, `DACTOR_RANDOM_PROGRAM` | the only program to run, as printed by a failure |
//! | `DACTOR_RANDOM_ALL` | if set, the search continues after a finding and reports one of each kind |
//! | `DACTOR_RANDOM_PROGRESS` | if set, the search prints its progress every five seconds |
//!
//! The kit tests itself: every rule passes on two [reference backends](Reference), and every [deliberately broken
//! backend](mutants) fails the rules that name it.

pub mod broken;
mod check;
mod context;
mod coverage;
mod events;
mod fixtures;
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
pub use context::RuleContext;
pub use coverage::{REASONS, Reason, uncovered};
pub use reference::{Handle, Reference, Style};
pub use report::{Outcome, Record};
pub use rule::{Body, Capability, Level, Rule, RuntimeMode, State, Tag, Topic};
pub use rules::far::coverage::{FAMILIES as FAR_FAMILIES, FromAfar};
pub use rules::rules;
pub use run::{run, run_family, trials};
pub use subject::{Native, NativeExit, NativeProbe, Subject, Task, Watch};
