//! Interleaved rounds, and the medians taken over them.

use std::convert::Infallible;

use bench_harness::{Options, Rounds};

use crate::subject::{self, Entry, STAND_IN, TOKIO_REFERENCE};
use crate::workload::{Sample, Threads, Workload};

/// One line of the report: a subject under a workload.
pub(crate) struct Row {
    pub(crate) workload: Workload,
    pub(crate) threads: Threads,
    pub(crate) subject: &'static str,
    /// Median over the rounds, in the workload's unit.
    pub(crate) per_op: f64,
    pub(crate) p99: Option<f64>,
    /// The reference of `ratio_to_native`.
    pub(crate) native: Option<&'static str>,
    /// Whether `native` is another backend, because the subject's own cannot run the workload.
    pub(crate) is_stand_in: bool,
    /// Median of the ratios of each round, not the ratio of the medians.
    pub(crate) ratio_to_native: Option<f64>,
    pub(crate) ratio_to_tokio: Option<f64>,
}

/// A subject that cannot run the workload has no row.
pub(crate) fn compare(workload: Workload, threads: Threads, options: &Options) -> Vec<Row> {
    let run = |which: usize| Ok((subject::ALL[which].run)(workload, threads, options.scale));
    let Ok::<_, Infallible>(rounds) = Rounds::interleaved(subject::ALL.len(), options.rounds, run);
    let done = Comparison { rounds };
    eprintln!("{} on {} thread(s): {} round(s) done", workload.id(), threads.count(), options.rounds);
    let row = |entry: &Entry| {
        let native = entry.native.map(|own| if done.has(own) { own } else { STAND_IN });
        Row {
            workload,
            threads,
            subject: entry.id,
            per_op: done.median_of(entry.id, |sample| Some(sample.per_op)),
            p99: workload.has_tail().then(|| done.median_of(entry.id, |sample| sample.p99)),
            native,
            is_stand_in: native != entry.native,
            ratio_to_native: native.map(|native| done.ratio(entry.id, native)),
            ratio_to_tokio: (entry.id != TOKIO_REFERENCE).then(|| done.ratio(entry.id, TOKIO_REFERENCE)),
        }
    };
    subject::ALL.iter().filter(|entry| done.has(entry.id)).map(row).collect()
}

/// The samples of all counted rounds, one per subject that can run the workload.
struct Comparison {
    rounds: Rounds<Option<Sample>>,
}

impl Comparison {
    fn has(&self, subject: &str) -> bool {
        self.rounds.all(index_of(subject), Option::is_some)
    }

    fn median_of(&self, subject: &str, figure: impl Fn(&Sample) -> Option<f64>) -> f64 {
        let index = index_of(subject);
        self.rounds.median(|round| figure(round[index].as_ref()?))
    }

    fn ratio(&self, subject: &str, reference: &str) -> f64 {
        let (subject, reference) = (index_of(subject), index_of(reference));
        self.rounds.median(|round| Some(round[subject]?.per_op / round[reference]?.per_op))
    }
}

fn index_of(subject: &str) -> usize {
    subject::ALL.iter().position(|entry| entry.id == subject).expect("a known subject")
}
