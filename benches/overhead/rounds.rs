//! Interleaved rounds, and the medians taken over them.

use crate::options::Options;
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
    /// What `ratio_to_native` is to.
    pub(crate) native: Option<&'static str>,
    /// Whether `native` is not the subject's own backend, because that cannot run the workload.
    pub(crate) is_stand_in: bool,
    /// Median of the ratios of each round, not the ratio of the medians.
    pub(crate) ratio_to_native: Option<f64>,
    pub(crate) ratio_to_tokio: Option<f64>,
}

/// Runs every subject once a round. Subjects alternate within a round so that a change in the
/// machine's speed reaches all of them, and the first place rotates so that no subject always
/// follows the same neighbour. A subject that cannot run the workload has no row.
pub(crate) fn compare(workload: Workload, threads: Threads, options: &Options) -> Vec<Row> {
    let subjects = &subject::ALL;
    let mut rounds = Vec::with_capacity(options.rounds);
    for round in 0..=options.rounds {
        let mut samples = [None; subject::ALL.len()];
        for place in 0..subjects.len() {
            let which = (place + round) % subjects.len();
            samples[which] = (subjects[which].run)(workload, threads, options.scale);
        }
        let warm_up = round == 0;
        if !warm_up {
            rounds.push(samples);
        }
    }
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
    subjects.iter().filter(|entry| done.has(entry.id)).map(row).collect()
}

/// The samples of all counted rounds, one per subject that can run the workload.
struct Comparison {
    rounds: Vec<[Option<Sample>; subject::ALL.len()]>,
}

impl Comparison {
    fn has(&self, subject: &str) -> bool {
        self.rounds.iter().all(|round| round[index_of(subject)].is_some())
    }

    fn median_of(&self, subject: &str, figure: impl Fn(&Sample) -> Option<f64>) -> f64 {
        let index = index_of(subject);
        median(self.rounds.iter().filter_map(|round| figure(round[index].as_ref()?)).collect())
    }

    fn ratio(&self, subject: &str, reference: &str) -> f64 {
        let (subject, reference) = (index_of(subject), index_of(reference));
        let ratios =
            self.rounds.iter().filter_map(|round| Some(round[subject]?.per_op / round[reference]?.per_op));
        median(ratios.collect())
    }
}

fn index_of(subject: &str) -> usize {
    subject::ALL.iter().position(|entry| entry.id == subject).expect("a known subject")
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    let middle = figures.len() / 2;
    if figures.len() % 2 == 1 { figures[middle] } else { f64::midpoint(figures[middle - 1], figures[middle]) }
}
