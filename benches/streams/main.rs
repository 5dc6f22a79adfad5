//! The cost per item of a stream, on one thread: against a bare `tokio::sync::mpsc` of the same capacity and
//! with the same number of tasks, and against a message per item on native ractor and kameo.
//!
//! Every run moves the same numbers, and its sum is checked. The key figure is the ratio to the bare channel,
//! computed per round. `expand` and `reduce` are compared to one channel between two tasks, `transform` to
//! two channels.
//!
//! ```text
//! cargo bench --bench streams                # everything; rewrites docs/bench/streams.*
//! cargo bench --bench streams -- expand      # only this shape
//! cargo bench --bench streams -- --quick     # smoke run, figures mean nothing
//! ```

mod bare;
mod dactor;
mod native;
mod report;

use std::convert::Infallible;
use std::future::Future;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bench_harness::{Options, Rounds, Scale};

/// The capacity of every channel.
const CAPACITY: usize = 32;
/// The argument of `.batch`.
const BATCH: usize = 32;

/// The timed case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Expand,
    ExpandBatch,
    Reduce,
    Transform,
    TransformBatch,
    /// A message per item instead of a stream.
    Tell,
}

impl Case {
    const ALL: [Self; 6] =
        [Self::Expand, Self::ExpandBatch, Self::Reduce, Self::Transform, Self::TransformBatch, Self::Tell];

    fn name(self) -> &'static str {
        match self {
            Self::Expand => "expand",
            Self::ExpandBatch => "expand_batch_32",
            Self::Reduce => "reduce",
            Self::Transform => "transform",
            Self::TransformBatch => "transform_batch_32",
            Self::Tell => "tell",
        }
    }

    /// The subject.
    fn subjects(self) -> &'static [Subject] {
        match self {
            Self::Tell => &[Subject::Bare, Subject::Ractor, Subject::Kameo],
            _ => &[Subject::Bare, Subject::DactorRactor, Subject::DactorKameo],
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// `tokio::sync::mpsc`.
    Bare,
    Ractor,
    Kameo,
    DactorRactor,
    DactorKameo,
}

impl Subject {
    fn id(self) -> &'static str {
        match self {
            Self::Bare => "mpsc",
            Self::Ractor => "ractor",
            Self::Kameo => "kameo",
            Self::DactorRactor => "dactor_ractor",
            Self::DactorKameo => "dactor_kameo",
        }
    }
}

/// One line of the report.
#[derive(Debug)]
struct Row {
    case: Case,
    subject: Subject,
    nanoseconds: f64,
    ratio_to_bare: Option<f64>,
}

/// The time of one run, from its first item to its last.
async fn timed(sum: impl Future<Output = u64> + Send + 'static, expected: u64) -> Duration {
    // In a task, as in an application, and not in `block_on`.
    let run = tokio::spawn(async move {
        let begin = Instant::now();
        let sum = sum.await;
        (sum, begin.elapsed())
    });
    let (sum, elapsed) = run.await.expect("a run ends");
    assert_eq!(sum, expected, "an item was lost");
    elapsed
}

fn run(case: Case, subject: Subject, items: u64) -> Duration {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let sum = items * (items - 1) / 2;
    runtime.block_on(async {
        match (subject, case) {
            (Subject::Bare, Case::Transform | Case::TransformBatch) => {
                timed(bare::transform(items), 2 * sum).await
            }
            (Subject::Bare, _) => timed(bare::channel(items), sum).await,
            (Subject::Ractor, _) => native::ractor(items, sum).await,
            (Subject::Kameo, _) => native::kameo(items, sum).await,
            (Subject::DactorRactor, _) => dactor::run(dactor_ractor::ractor(), case, items, sum).await,
            (Subject::DactorKameo, _) => dactor::run(dactor_kameo::kameo(), case, items, sum).await,
        }
    })
}

fn measure(case: Case, options: &Options) -> Vec<Row> {
    let items = if options.scale == Scale::Full { 500_000 } else { 1_000 };
    let subjects = case.subjects();
    let run = |at: usize| Ok(run(case, subjects[at], items).as_nanos() as f64 / items as f64);
    let Ok::<_, Infallible>(rounds) = Rounds::interleaved(subjects.len(), options.rounds, run);
    let rows = subjects.iter().enumerate().map(|(at, &subject)| Row {
        case,
        subject,
        nanoseconds: rounds.median(|round| Some(round[at])),
        ratio_to_bare: (at > 0).then(|| rounds.median(|round| Some(round[at] / round[0]))),
    });
    rows.collect()
}

fn main() -> ExitCode {
    let options = match Options::from_args(std::env::args().skip(1), &Case::ALL.map(Case::name)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let cases = Case::ALL.into_iter().filter(|case| options.selects(case.name()));
    let rows: Vec<_> = cases.flat_map(|case| measure(case, &options)).collect();
    print!("{}", report::table(&rows));
    match report::write(&rows, &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
