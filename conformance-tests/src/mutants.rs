//! Deliberately broken backends. Each has one defect that a real adapter had, or easily could have.
//!
//! They prove the rules tagged `spi`: a rule must fail on every mutant that it names.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use dactor_core::spi::Cell;
use tokio::runtime::Runtime;

use crate::reference::Flaws;
use crate::{Reference, Style, Subject};

/// A broken backend.
#[derive(Debug, Clone, Copy)]
pub struct Mutant {
    /// The name that rules use.
    pub name: &'static str,
    /// The defect.
    pub what: &'static str,
    style: Style,
    flaw: Flaw,
}

impl Mutant {
    /// The backend.
    pub fn subject(&self) -> Arc<dyn Subject> {
        Arc::new(Reference::broken(self.name, self.style, self.flaw))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    LosesWakes,
    WakesOncePerTurn,
    ClearsFlagLate,
    WakesBySpawning,
    IgnoresMore,
    IgnoresIdleStop,
    NeverYields,
    YieldsRarely,
    EndsWhenIdle,
    BindsLate,
    RunsNothing,
    DropsCell,
    OutsideTokio,
    ForeignRuntime,
    OutlivesCell,
    DiesWithPeer,
    FailureLooksNormal,
    KillLooksNormal,
    IgnoresKill,
    KillRunsHooks,
    KeepsCellAfterKill,
    IgnoresStop,
    StopDropsCell,
    StopDrains,
    DrainStops,
    DrainsOneTurn,
}

const fn mutant(name: &'static str, style: Style, flaw: Flaw, what: &'static str) -> Mutant {
    Mutant { name, what, style, flaw }
}

/// All mutants.
pub static MUTANTS: &[Mutant] = &[
    mutant("loses-wakes", Style::Turns, Flaw::LosesWakes, "loses every second wake-up"),
    mutant(
        "wakes-once-per-turn",
        Style::Turns,
        Flaw::WakesOncePerTurn,
        "polls a pending turn again after its first wake-up, and ignores later ones",
    ),
    mutant(
        "clears-flag-late",
        Style::Turns,
        Flaw::ClearsFlagLate,
        "ignores wake-ups while a turn is queued, and clears that flag after the turn instead of before it",
    ),
    mutant(
        "wakes-by-spawning",
        Style::Turns,
        Flaw::WakesBySpawning,
        "wakes the actor in a spawned tokio task, which panics on a thread without a runtime",
    ),
    mutant(
        "ignores-more",
        Style::Turns,
        Flaw::IgnoresMore,
        "waits for a wake-up after a turn that spent its budget",
    ),
    mutant(
        "ignores-idle-stop",
        Style::Turns,
        Flaw::IgnoresIdleStop,
        "ignores `NativeHandle::stop` of an idle actor",
    ),
    mutant(
        "never-yields",
        Style::Turns,
        Flaw::NeverYields,
        "polls a cell that woke itself again at once, without end",
    ),
    mutant(
        "yields-rarely",
        Style::Turns,
        Flaw::YieldsRarely,
        "polls a cell that woke itself again at once, up to 64 times in a row",
    ),
    mutant("ends-when-idle", Style::Turns, Flaw::EndsWhenIdle, "ends the native actor when it is idle"),
    mutant(
        "leaves-when-idle",
        Style::Resident,
        Flaw::EndsWhenIdle,
        "stops running the cell the first time it is pending",
    ),
    mutant("binds-late", Style::Turns, Flaw::BindsLate, "binds the cell after its first turn"),
    mutant("runs-nothing", Style::Resident, Flaw::RunsNothing, "accepts the cell and never runs it"),
    mutant("drops-cell", Style::Resident, Flaw::DropsCell, "accepts the cell and drops it"),
    mutant(
        "outside-tokio",
        Style::Resident,
        Flaw::OutsideTokio,
        "runs the cell on a thread without a tokio runtime",
    ),
    mutant("foreign-runtime", Style::Resident, Flaw::ForeignRuntime, "runs the cell on a runtime of its own"),
    mutant(
        "outlives-cell",
        Style::Resident,
        Flaw::OutlivesCell,
        "keeps the native actor after the cell has ended",
    ),
    mutant("dies-with-peer", Style::Turns, Flaw::DiesWithPeer, "ends when a linked native actor ends"),
    mutant(
        "failure-looks-normal",
        Style::Turns,
        Flaw::FailureLooksNormal,
        "reports a failure as a normal end",
    ),
    mutant("kill-looks-normal", Style::Resident, Flaw::KillLooksNormal, "reports a kill as a normal end"),
    mutant("ignores-kill", Style::Turns, Flaw::IgnoresKill, "ignores a native kill"),
    mutant("kill-runs-hooks", Style::Resident, Flaw::KillRunsHooks, "treats a native kill as a stop"),
    mutant(
        "keeps-cell-after-kill",
        Style::Turns,
        Flaw::KeepsCellAfterKill,
        "keeps the cell after a native kill",
    ),
    mutant("ignores-stop", Style::Resident, Flaw::IgnoresStop, "ignores a native stop"),
    mutant("stop-drops-cell", Style::Turns, Flaw::StopDropsCell, "drops the cell on a native stop"),
    mutant("stop-drains", Style::Resident, Flaw::StopDrains, "handles all queued messages on a native stop"),
    mutant("drain-stops", Style::Resident, Flaw::DrainStops, "handles no further message on a native drain"),
    mutant("drains-one-turn", Style::Turns, Flaw::DrainsOneTurn, "runs one turn on a native drain"),
];

/// Starts the native actor, in the place that the flaw requires.
pub(crate) fn launch(task: impl Future<Output = ()> + Send + 'static, flaw: Flaws) {
    if flaw.is(Flaw::OutsideTokio) {
        let builder = std::thread::Builder::new().name("dactor-rule outside".into());
        builder.spawn(move || block_on(task)).expect("a thread");
    } else if flaw.is(Flaw::ForeignRuntime) {
        foreign().spawn(task);
    } else {
        tokio::spawn(task);
    }
}

/// Polls the cell again within one poll of the task while the cell wakes itself, as often as the flaw requires.
pub(crate) fn poll_again<T>(
    flaw: Flaws,
    cx: &mut Context<'_>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Poll<T> {
    struct Noticed(Waker, AtomicBool);
    impl Wake for Noticed {
        fn wake(self: Arc<Self>) {
            self.1.store(true, Ordering::SeqCst);
            self.0.wake_by_ref();
        }
    }
    let most = match flaw {
        flaw if flaw.is(Flaw::NeverYields) => usize::MAX,
        flaw if flaw.is(Flaw::YieldsRarely) => 64,
        _ => return poll(cx),
    };
    let noticed = Arc::new(Noticed(cx.waker().clone(), AtomicBool::new(false)));
    let waker = Waker::from(noticed.clone());
    for _ in 0..most {
        let polled = poll(&mut Context::from_waker(&waker));
        if polled.is_ready() || !noticed.1.swap(false, Ordering::SeqCst) {
            return polled;
        }
    }
    Poll::Pending
}

/// The wake-ups that a turn may have, for a flaw that limits them.
#[derive(Default)]
pub(crate) struct TurnWakes(Arc<AtomicBool>);

impl TurnWakes {
    /// Polls the turn with a waker that works once.
    pub(crate) fn poll<T>(
        &self,
        flaw: Flaws,
        cx: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        struct Once(Waker, Arc<AtomicBool>);
        impl Wake for Once {
            fn wake(self: Arc<Self>) {
                if !self.1.swap(true, Ordering::SeqCst) {
                    self.0.wake_by_ref();
                }
            }
        }
        if !flaw.is(Flaw::WakesOncePerTurn) {
            return poll(cx);
        }
        let waker = Waker::from(Arc::new(Once(cx.waker().clone(), self.0.clone())));
        poll(&mut Context::from_waker(&waker))
    }
}

/// Keeps a cell forever.
pub(crate) fn forget(cell: Cell) {
    static FORGOTTEN: Mutex<Vec<Cell>> = Mutex::new(Vec::new());
    FORGOTTEN.lock().unwrap_or_else(PoisonError::into_inner).push(cell);
}

fn foreign() -> &'static Runtime {
    static FOREIGN: OnceLock<Runtime> = OnceLock::new();
    FOREIGN.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).enable_all().thread_name("dactor-rule foreign").build().expect("a runtime")
    })
}

fn block_on(future: impl Future<Output = ()>) {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = std::pin::pin!(future);
    while future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        std::thread::park();
    }
}
