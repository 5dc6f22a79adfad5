//! The rules that every storage engine must satisfy.
//!
//! The conformance test of an engine is one call in a test target with `harness = false`:
//!
//! ```no_run
//! # use dactor_conformance::engine::{self, InMemory};
//! fn main() -> std::process::ExitCode {
//!     engine::run(InMemory)
//! }
//! ```
//!
//! The argument is your [`EngineSubject`], which makes empty [stores](TestStore). A rule opens a store several times, as
//! several processes do.
//!
//! | environment variable | meaning |
//! | --- | --- |
//! | `DACTOR_CONFORMANCE_WATCHDOG_S` | time limit of a rule; 30 |
//! | `DACTOR_CONFORMANCE_SEED` | seed of the rules with injected faults; printed when one of them fails |
//!
//! The kit tests itself: every rule passes on [`InMemory`], and every [deliberately broken engine](broken) fails the
//! rules that name it. Flaws of SQL are put on the engine under test: [`run`] shows that the rules catch them there.

pub mod broken;
mod check;
mod context;
mod rule;
mod rules;
mod subject;

pub use check::{check, run, sql_flaws, trials};
pub use context::{EngineContext, Owned};
pub use rule::{EngineRule, RuleTest};
pub use rules::{rules, sql_rules};
pub use subject::{EngineSubject, InMemory, TestStore};
