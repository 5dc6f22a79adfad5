//! The measured libraries: one file per subject, all behind [`Subject`].

mod dactor;
mod kameo;
mod ractor;
mod tokio_boxed;
mod tokio_loop;

use bench_harness::Scale;

use crate::tally::Tally;
use crate::workload::{self, Sample, Threads, Workload};

/// An actor library seen through the few calls the workloads need.
///
/// Each subject implements a call with the fastest one its library documents, so that the
/// workloads are written once and the comparison is fair. Mailboxes are unbounded, unless a
/// workload needs a bound.
pub(crate) trait Subject: Send + Sync + Sized + 'static {
    /// A handle to one actor.
    type Ref: Clone + Send + Sync + 'static;

    /// A handle to one actor with a bounded mailbox.
    type BoundedRef: Send + Sync + 'static;

    /// Sets up the library before its first actor. Runs inside the runtime.
    fn start() -> Self;

    /// Spawns an actor over `tally` and waits until it has started.
    fn spawn(&self, tally: Tally) -> impl Future<Output = Self::Ref> + Send;

    /// The same with interceptors that do nothing. A library without interceptors runs without them, as the reference.
    fn spawn_intercepted(
        &self,
        tally: Tally,
        _interceptors: usize,
    ) -> impl Future<Output = Self::Ref> + Send {
        self.spawn(tally)
    }

    /// The same with a mailbox of `capacity` messages that blocks senders when it is full; `None` if
    /// the library has no such mailbox.
    fn spawn_bounded(
        &self,
        tally: Tally,
        capacity: usize,
    ) -> impl Future<Output = Option<Self::BoundedRef>> + Send;

    /// Adds `n` without waiting.
    fn tell(actor: &Self::Ref, n: u64);

    /// Adds `n`, waiting only for room in the mailbox.
    fn send(actor: &Self::BoundedRef, n: u64) -> impl Future<Output = ()> + Send;

    /// Adds `n` and waits for the sum.
    fn ask(actor: &Self::Ref, n: u64) -> impl Future<Output = u64> + Send;

    /// Requests a graceful stop. The stop is complete when the actor's task is gone.
    fn stop(actor: &Self::Ref) -> impl Future<Output = ()> + Send;
}

/// A subject with its type erased, for the rounds.
pub(crate) struct Entry {
    pub(crate) id: &'static str,
    /// The subject a dactor subject is compared to.
    pub(crate) native: Option<&'static str>,
    /// Runs a workload once, in a fresh runtime; `None` if the library cannot run it.
    pub(crate) run: fn(Workload, Threads, Scale) -> Option<Sample>,
}

/// The reference of `ratio_to_tokio`. It boxes each message because both libraries do: the ratio
/// shows the overhead beyond that.
pub(crate) const TOKIO_REFERENCE: &str = "tokio_boxed";

/// The native library that a dactor subject is compared to if its own cannot run the workload.
pub(crate) const STAND_IN: &str = "kameo";

/// Every subject, in the order of the report.
pub(crate) const ALL: [Entry; 6] = [
    entry::<tokio_loop::TokioLoop>("tokio", None),
    entry::<tokio_boxed::TokioBoxed>(TOKIO_REFERENCE, None),
    entry::<ractor::Ractor>("ractor", None),
    entry::<kameo::Kameo>("kameo", None),
    entry::<dactor::Dactor<dactor::OverRactor>>("dactor_ractor", Some("ractor")),
    entry::<dactor::Dactor<dactor::OverKameo>>("dactor_kameo", Some("kameo")),
];

const fn entry<S: Subject>(id: &'static str, native: Option<&'static str>) -> Entry {
    Entry { id, native, run: workload::run::<S> }
}
