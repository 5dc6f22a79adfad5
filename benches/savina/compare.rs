//! Interleaved rounds of one benchmark, and the figures taken over them.

use std::time::Duration;

use bench_harness::{Options, Rounds, geometric_mean};

use crate::suite::{Entry, Subject};

/// One line of the report: a subject in a benchmark.
pub(crate) struct Row {
    pub(crate) benchmark: &'static Entry,
    pub(crate) subject: Subject,
    /// Median over the rounds.
    pub(crate) ms: f64,
    /// Median of the ratios of each round, not the ratio of the medians.
    pub(crate) ratio_to_native: Option<f64>,
}

/// Runs all subjects; returns the first error of a run, which names its subject.
pub(crate) fn compare(benchmark: &'static Entry, options: &Options) -> Result<Vec<Row>, String> {
    let subjects = Subject::ALL;
    let run = |which: usize| (benchmark.run)(subjects[which], options.scale);
    let rounds = Rounds::interleaved(subjects.len(), options.rounds, run)?;
    eprintln!("{}: {} round(s) done", benchmark.name, options.rounds);
    let row = |subject: Subject| Row {
        benchmark,
        subject,
        ms: rounds.median(|round| Some(1000.0 * seconds(round, subject))),
        ratio_to_native: subject
            .native()
            .map(|native| rounds.median(|round| Some(seconds(round, subject) / seconds(round, native)))),
    };
    Ok(subjects.map(row).into())
}

/// The geometric mean of a subject's ratios to native; `None` for a native subject.
pub(crate) fn mean_ratio(rows: &[Row], subject: Subject) -> Option<f64> {
    let ratios: Vec<_> =
        rows.iter().filter(|row| row.subject == subject).filter_map(|row| row.ratio_to_native).collect();
    (!ratios.is_empty()).then(|| geometric_mean(&ratios))
}

fn seconds(round: &[Duration], subject: Subject) -> f64 {
    let index = Subject::ALL.iter().position(|&one| one == subject).expect("all subjects are in a round");
    round[index].as_secs_f64()
}
