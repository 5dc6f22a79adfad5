//! What is measured: one file a subject, all behind [`Subject`].

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
/// Each subject implements a call by the fastest one its library documents, so that the workloads
/// are written once and nobody is handicapped. Mailboxes are unbounded, except where a workload
/// asks for a bound.
pub(crate) trait Subject: Send + Sync + Sized + 'static {
    /// A handle to one actor.
    type Ref: Clone + Send + Sync + 'static;

    /// A handle to one actor with a bounded mailbox.
    type BoundedRef: Send + Sync + 'static;

    /// Sets up whatever the library needs before its first actor. Runs inside the runtime.
    fn start() -> Self;

    /// Spawns an actor over `tally` and waits until it has started.
    fn spawn(&self, tally: Tally) -> impl Future<Output = Self::Ref> + Send;

    /// The same with interceptors that do nothing, where the library has interceptors. One that has none runs without:
    /// it is what the others are compared to.
    fn spawn_intercepted(
        &self,
        tally: Tally,
        _interceptors: usize,
    ) -> impl Future<Output = Self::Ref> + Send {
        self.spawn(tally)
    }

    /// The same behind a mailbox that holds `capacity` messages and makes senders wait when it is
    /// full; `None` when the library has no such mailbox.
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

    /// Requests a graceful stop. Its end is seen by the actor's task going away.
    fn stop(actor: &Self::Ref) -> impl Future<Output = ()> + Send;
}

/// One subject as the rounds see it, its type erased.
pub(crate) struct Entry {
    pub(crate) id: &'static str,
    /// The subject a dactor subject is compared to.
    pub(crate) native: Option<&'static str>,
    /// Runs a workload once, in a runtime of its own; `None` when the library cannot.
    pub(crate) run: fn(Workload, Threads, Scale) -> Option<Sample>,
}

/// The subject all others are compared to in `ratio_to_tokio`. It boxes each message because
/// both libraries do: the distance to it is what they add beyond that.
pub(crate) const TOKIO_REFERENCE: &str = "tokio_boxed";

/// The native library a dactor subject is compared to in a workload that its own cannot run.
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
