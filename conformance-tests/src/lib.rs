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
//!
//! The feature `engine` adds rules for storage engines, in the module `engine`. An engine depends on this crate without
//! default features.

#[cfg(feature = "adapter")]
pub mod broken;
#[cfg(feature = "adapter")]
mod check;
#[cfg(feature = "adapter")]
mod context;
#[cfg(feature = "adapter")]
mod coverage;
#[cfg(feature = "engine")]
pub mod engine;
#[cfg(feature = "adapter")]
mod events;
#[cfg(feature = "adapter")]
mod far;
#[cfg(feature = "adapter")]
mod fixtures;
#[cfg(feature = "adapter")]
pub mod mutants;
#[cfg(feature = "adapter")]
pub mod pages;
#[cfg(feature = "adapter")]
pub mod random;
#[cfg(feature = "adapter")]
mod reference;
#[cfg(feature = "adapter")]
mod report;
#[cfg(feature = "adapter")]
mod rule;
#[cfg(feature = "adapter")]
mod rules;
#[cfg(feature = "adapter")]
mod run;
#[cfg(feature = "adapter")]
mod subject;

#[cfg(feature = "adapter")]
pub use check::{Flavor, Settings, Verdict, check};
#[cfg(feature = "adapter")]
pub use context::RuleContext;
#[cfg(feature = "adapter")]
pub use coverage::{REASONS, Reason, uncovered};
#[cfg(feature = "adapter")]
pub use far::{FarPair, FarSettings};
#[cfg(feature = "adapter")]
pub use reference::{Handle, Reference, Style};
#[cfg(feature = "adapter")]
pub use report::{Outcome, Record};
#[cfg(feature = "adapter")]
pub use rule::{Body, Capability, Level, Rule, RuntimeMode, State, Tag, Topic};
#[cfg(feature = "adapter")]
pub use rules::far::coverage::{FAMILIES as FAR_FAMILIES, FromAfar};
#[cfg(feature = "adapter")]
pub use rules::rules;
#[cfg(feature = "adapter")]
pub use run::{run, run_family, trials};
#[cfg(feature = "adapter")]
pub use subject::{Native, NativeExit, NativeProbe, Subject, Task, Watch};
