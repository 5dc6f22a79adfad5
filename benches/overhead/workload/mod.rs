//! The workloads, their sizes, and the runtime of each run.

mod ask;
mod bounded;
mod lifecycle;
mod tell;
mod wake;

use bench_harness::Scale;
use tokio::runtime::{Builder, Runtime};

use crate::subject::Subject;

/// A workload; [`Workload::id`] is its name on the command line and in the output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    /// One sender, bursts of tells.
    Tell1,
    /// The same, through an interceptor that does nothing.
    Tell1Icpt1,
    /// The same, through five of them.
    Tell1Icpt5,
    /// Four sender tasks, bursts of tells.
    Tell4,
    /// One sender that waits for room in a mailbox of 64.
    Bounded64Send,
    /// One caller, one ask at a time.
    AskSeq,
    /// 64 tasks that ask concurrently.
    Ask64,
    /// One tell at a time to an idle actor.
    Wake,
    /// Spawn + stop.
    SpawnStop,
    /// Heap held by an idle actor.
    IdleBytes,
}

/// How many threads run the actors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Threads {
    One,
    Two,
}

/// The result of one run.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    /// Nanoseconds (or bytes) per operation; the median for [`Workload::Wake`].
    pub(crate) per_op: f64,
    /// The 99th percentile, for [`Workload::Wake`] only.
    pub(crate) p99: Option<f64>,
}

impl Sample {
    fn mean(total: f64, operations: u64) -> Self {
        Self { per_op: total / operations as f64, p99: None }
    }
}

impl Workload {
    pub(crate) const ALL: [Self; 10] = [
        Self::Tell1,
        Self::Tell1Icpt1,
        Self::Tell1Icpt5,
        Self::Tell4,
        Self::Bounded64Send,
        Self::AskSeq,
        Self::Ask64,
        Self::Wake,
        Self::SpawnStop,
        Self::IdleBytes,
    ];

    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Tell1 => "tell_1",
            Self::Tell1Icpt1 => "tell_1_icpt1",
            Self::Tell1Icpt5 => "tell_1_icpt5",
            Self::Tell4 => "tell_4",
            Self::Bounded64Send => "bounded_64_send",
            Self::AskSeq => "ask_seq",
            Self::Ask64 => "ask_64",
            Self::Wake => "wake",
            Self::SpawnStop => "spawn_stop",
            Self::IdleBytes => "idle_bytes",
        }
    }

    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::IdleBytes => "bytes",
            _ => "ns",
        }
    }

    /// Whether a run also measures a p99.
    pub(crate) fn has_tail(self) -> bool {
        self == Self::Wake
    }

    /// Memory does not depend on the number of threads, so it is measured on one thread only.
    pub(crate) fn threads(self) -> &'static [Threads] {
        match self {
            Self::IdleBytes => &[Threads::One],
            _ => &[Threads::One, Threads::Two],
        }
    }

    /// Operations per run: some tens of milliseconds each at full scale.
    fn operations(self, scale: Scale) -> u64 {
        let full = match self {
            Self::Tell1 | Self::Tell1Icpt1 | Self::Tell1Icpt5 | Self::Tell4 | Self::Bounded64Send => 400_000,
            Self::AskSeq | Self::Ask64 => 96_000,
            Self::Wake => 50_000,
            Self::SpawnStop => 50_000,
            Self::IdleBytes => 20_000,
        };
        match scale {
            Scale::Full => full,
            Scale::Quick => full / 50,
        }
    }
}

impl Threads {
    pub(crate) fn count(self) -> u64 {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }

    fn runtime(self) -> Runtime {
        match self {
            Self::One => Builder::new_current_thread().enable_time().build(),
            Self::Two => Builder::new_multi_thread().worker_threads(2).enable_time().build(),
        }
        .expect("the runtime builds")
    }
}

/// Runs a workload once in a fresh runtime, so that runs do not share tasks or queues. `None` if
/// the subject cannot run it.
pub(crate) fn run<S: Subject>(workload: Workload, threads: Threads, scale: Scale) -> Option<Sample> {
    // Spawn the driver: `block_on` would poll it on a thread outside the pool, and every message to
    // and from it would cross threads.
    let driver = drive::<S>(workload, workload.operations(scale));
    threads.runtime().block_on(async { tokio::spawn(driver).await }).expect("the driver ends")
}

async fn drive<S: Subject>(workload: Workload, operations: u64) -> Option<Sample> {
    let subject = S::start();
    let sample = match workload {
        Workload::Tell1 => tell::one_sender(&subject, operations, 0).await,
        Workload::Tell1Icpt1 => tell::one_sender(&subject, operations, 1).await,
        Workload::Tell1Icpt5 => tell::one_sender(&subject, operations, 5).await,
        Workload::Tell4 => tell::four_senders(&subject, operations).await,
        Workload::Bounded64Send => bounded::one_sender(&subject, operations).await?,
        Workload::AskSeq => ask::in_turn(&subject, operations).await,
        Workload::Ask64 => ask::at_once(&subject, operations).await,
        Workload::Wake => wake::one_at_a_time(&subject, operations).await,
        Workload::SpawnStop => lifecycle::spawn_stop(&subject, operations).await,
        Workload::IdleBytes => lifecycle::idle_bytes(&subject, operations).await,
    };
    Some(sample)
}
