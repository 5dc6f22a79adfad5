use std::fmt::Debug;
use std::time::Duration;

use bench_harness::Scale;
use dactor::System;

use super::measure::timed;
use super::subject::Subject;

/// One benchmark: its sizes, its correct answer and its three programs.
///
/// A program spawns its actors, lets them work and stops all of them. It ends when they are gone from the runtime; the
/// measured time includes this. Mailboxes are unbounded in every program, unless the benchmark says otherwise.
pub(crate) trait Benchmark: 'static {
    /// Its name on the command line and in the figures.
    const NAME: &'static str;

    /// A one-sentence description for the page.
    const ABOUT: &'static str;

    /// The native calls that the native programs use.
    const IDIOMS: Idioms;

    /// Its parameters: a few plain numbers, which the page shows with `Debug`.
    type Config: Copy + Debug + Send + 'static;

    /// The result of a program.
    type Answer: PartialEq + Debug + Send + 'static;

    /// [`Scale::Full`] takes tens of milliseconds; it is Savina's size if that is long enough to measure.
    /// [`Scale::Quick`] takes a few milliseconds in a debug build.
    fn config(scale: Scale) -> Self::Config;

    /// The correct answer, computed without actors and outside the measured time.
    fn expected(config: Self::Config) -> Self::Answer;

    /// Runs on either backend; the system determines which.
    fn dactor(system: &System, config: Self::Config) -> impl Future<Output = Self::Answer> + Send;

    /// Runs on native ractor.
    fn ractor(config: Self::Config) -> impl Future<Output = Self::Answer> + Send;

    /// Runs on native kameo.
    fn kameo(config: Self::Config) -> impl Future<Output = Self::Answer> + Send;
}

/// The native API that each native program uses, for the page.
#[derive(Clone, Copy)]
pub(crate) struct Idioms {
    pub(crate) ractor: &'static str,
    pub(crate) kameo: &'static str,
}

/// A benchmark with its types erased, for the table.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) idioms: Idioms,
    /// The parameters of the full size.
    pub(crate) size: fn() -> String,
    /// Runs a subject's program once, in a fresh runtime, and checks its answer. An error names both.
    pub(crate) run: fn(Subject, Scale) -> Result<Duration, String>,
}

pub(crate) const fn entry<B: Benchmark>() -> Entry {
    Entry { name: B::NAME, about: B::ABOUT, idioms: B::IDIOMS, size: size::<B>, run: run::<B> }
}

fn size<B: Benchmark>() -> String {
    let config = format!("{:?}", B::config(Scale::Full));
    config.trim_start_matches("Config { ").trim_end_matches(" }").to_owned()
}

fn run<B: Benchmark>(subject: Subject, scale: Scale) -> Result<Duration, String> {
    let config = B::config(scale);
    let timed = match subject.system() {
        Some(system) => timed(async move { B::dactor(&system, config).await }),
        None if subject == Subject::Ractor => timed(B::ractor(config)),
        None => timed(B::kameo(config)),
    };
    let blame = |reason: String| format!("{} on {}: {reason}", B::NAME, subject.id());
    let (elapsed, answer) = timed.map_err(blame)?;
    let expected = B::expected(config);
    if answer == expected {
        Ok(elapsed)
    } else {
        Err(blame(format!("the answer is {answer:?}, and should be {expected:?}")))
    }
}
