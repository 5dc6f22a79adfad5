use std::fmt::Debug;
use std::time::Duration;

use bench_harness::Scale;
use dactor::System;

use super::measure::timed;
use super::subject::Subject;

/// One benchmark: its sizes, its right answer and its three programs.
///
/// A program spawns its actors, lets them work and asks all of them to stop. It is over when they are gone from
/// the runtime, which is waited for and timed with the rest. Mailboxes are unbounded in every program, except
/// where the benchmark says otherwise.
pub(crate) trait Benchmark: 'static {
    /// What it is called on the command line and in the figures.
    const NAME: &'static str;

    /// What it does and what it strains, in one sentence for the page.
    const ABOUT: &'static str;

    /// Which calls the native programs are made of.
    const IDIOMS: Idioms;

    /// Its parameters. The page shows them as `Debug` does, so they are a few plain numbers.
    type Config: Copy + Debug + Send + 'static;

    /// What a program computes.
    type Answer: PartialEq + Debug + Send + 'static;

    /// [`Scale::Full`] is Savina's own size where that is long enough to be timed, and takes tens of milliseconds.
    /// [`Scale::Quick`] takes a few in a debug build.
    fn config(scale: Scale) -> Self::Config;

    /// The only right answer, computed without actors and outside the clock.
    fn expected(config: Self::Config) -> Self::Answer;

    /// Runs on either backend: the system decides.
    fn dactor(system: &System, config: Self::Config) -> impl Future<Output = Self::Answer> + Send;

    /// Runs on native ractor.
    fn ractor(config: Self::Config) -> impl Future<Output = Self::Answer> + Send;

    /// Runs on native kameo.
    fn kameo(config: Self::Config) -> impl Future<Output = Self::Answer> + Send;
}

/// What the native programs use of their crates, for the page.
#[derive(Clone, Copy)]
pub(crate) struct Idioms {
    pub(crate) ractor: &'static str,
    pub(crate) kameo: &'static str,
}

/// A benchmark as the table sees it, its types erased.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) idioms: Idioms,
    /// The parameters of the full size.
    pub(crate) size: fn() -> String,
    /// Runs a subject's program once, in a runtime of its own, and checks its answer. The error names both.
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
