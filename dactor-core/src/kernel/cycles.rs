//! Deadlock detection for asks: actors that wait for each other's answers.
//!
//! An actor is *blocked* when a poll of its code returned `Pending` and only answers to asks without a limit,
//! or the start of a child, can wake it. This is exact: such a poll is repeated with a waker of its own
//! ([`TurnWaker`]), and the clones that the poll leaves behind are counted. Each ask accounts for one clone;
//! any other clone belongs to something else that the code awaits, such as the timer of
//! `tokio::time::timeout` or another branch of a `select!`, and then the actor is not blocked.
//!
//! A table holds the blocked actors and what they wait for. When an actor becomes blocked, all actors that it
//! waits for, directly or indirectly, are checked. If all of them are blocked, too, and the first is among
//! them, it is a deadlock: an ask of the cycle whose message is still in a mailbox fails with
//! [`AskCycle`](ErrorKind::AskCycle). Entries are checked when read: an ask that was answered, given up,
//! forwarded, stashed or deferred does not block.
//!
//! Reads that run beside each other are one piece of code here. They are blocked only while no other read may begin, and not
//! for a message that [joins](crate::Interleaved) them. A read that waits for another one of its own actor waits for
//! whatever that one waits for.
//!
//! Code that does not wait for an ask costs nothing.

mod graph;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use self::graph::{Blocked, Failing, Table, Wait, cycle, error, victim};
use crate::base::current;
use crate::base::panic::discard;
use crate::delivery::ask_state::Asker;
use crate::kernel::actor_core::ActorMeta;
use crate::{Error, Pid};

thread_local! {
    /// The code being polled on this thread belongs to an actor of a system that detects cycles.
    static DETECTING: Cell<bool> = const { Cell::new(false) };
    /// The last actor whose code found an ask or a start pending.
    static WAITING: Cell<Pid> = const { Cell::new(Pid::NOBODY) };
    static COUNTED: RefCell<Option<Counted>> = const { RefCell::new(None) };
    static FAILING: RefCell<Option<Failing>> = const { RefCell::new(None) };
}

/// A poll whose waker clones are counted.
struct Counted {
    pid: Pid,
    waker: Arc<TurnWaker>,
    waits: Vec<Wait>,
    /// How many clones of the waker the waits account for.
    clones: usize,
}

/// The blocked actors of this process.
static BLOCKED: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);

fn blocked() -> MutexGuard<'static, Table> {
    BLOCKED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes the task that polls the actor, and records that it did.
struct TurnWaker {
    inner: Waker,
    woken: AtomicBool,
}

impl Wake for TurnWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Relaxed);
        self.inner.wake_by_ref();
    }
}

/// Records an ask without a limit that was sent and waits.
#[inline]
pub(crate) fn sent() {
    if DETECTING.get() {
        WAITING.set(current::actor());
    }
}

/// Records that an ask without a limit waits for this actor. Returns the error if it is a deadlock.
#[inline]
pub(crate) fn waits(actor: Pid, waker: &Waker, ask: impl FnOnce() -> Arc<dyn Asker>) -> Option<Error> {
    if DETECTING.get() { note(actor, waker, ask(), 0) } else { None }
}

/// The same for an ask with a limit that its asker did not set. `before` is the number of its [clones] before the limit was
/// polled: the clones that the poll left behind are the limit's.
pub(crate) fn waits_limited(
    actor: Pid,
    waker: &Waker,
    ask: impl FnOnce() -> Arc<dyn Asker>,
    before: usize,
) -> Option<Error> {
    if DETECTING.get() { note(actor, waker, ask(), clones(waker).saturating_sub(before)) } else { None }
}

/// How many clones of the waker there are, if they are counted.
pub(crate) fn clones(waker: &Waker) -> usize {
    if !DETECTING.get() {
        return 0;
    }
    counted(waker, |counted| Arc::strong_count(&counted.waker)).unwrap_or(0)
}

#[cold]
fn note(actor: Pid, waker: &Waker, ask: Arc<dyn Asker>, of_limit: usize) -> Option<Error> {
    let failing = FAILING.with_borrow_mut(|failing| failing.take_if(|failing| is_same(&failing.ask, &ask)));
    if let Some(failing) = failing {
        return Some(failing.error);
    }
    WAITING.set(current::actor());
    counted(waker, |counted| {
        let is_known = |wait: &Wait| wait.ask.as_ref().is_some_and(|known| is_same(known, &ask));
        if !counted.waits.iter().any(is_known) {
            counted.waits.push(Wait { actor, ask: Some(ask.clone()) });
            counted.clones += 1;
        }
        counted.clones += of_limit;
    });
    None
}

fn is_same(one: &Arc<dyn Asker>, other: &Arc<dyn Asker>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

/// Counts a wait that was polled with the waker of the current turn.
fn counted<R>(waker: &Waker, look: impl FnOnce(&mut Counted) -> R) -> Option<R> {
    COUNTED.with_borrow_mut(|counted| {
        let counted = counted.as_mut()?;
        let is_own = counted.pid == current::actor() && waker.data() == Arc::as_ptr(&counted.waker).cast();
        is_own.then(|| look(counted))
    })
}

/// An awaited spawn: waker clones made while the child starts belong to the child.
pub(crate) struct Start(Option<usize>);

impl Start {
    #[inline]
    pub(crate) fn begin(waker: &Waker) -> Self {
        if !DETECTING.get() {
            return Self(None);
        }
        Self(counted(waker, |counted| Arc::strong_count(&counted.waker)))
    }

    /// The child has not started yet.
    #[inline]
    pub(crate) fn waits(self, child: Pid, waker: &Waker) {
        if !DETECTING.get() {
            return;
        }
        WAITING.set(current::actor());
        if let Self(Some(before)) = self {
            counted(waker, |counted| {
                counted.waits.push(Wait { actor: child, ask: None });
                counted.clones += Arc::strong_count(&counted.waker).saturating_sub(before);
            });
        }
    }
}

/// Detects whether the code of an actor waits in a cycle. Dropping it removes the actor from the table.
pub(crate) struct Watch {
    /// [`Pid::NOBODY`] while the actor is not in the table.
    listed: Pid,
    reads: bool,
}

impl Watch {
    pub(crate) const fn new() -> Self {
        Self { listed: Pid::NOBODY, reads: false }
    }

    /// For reads, which others can join.
    pub(crate) const fn of_reads() -> Self {
        Self { listed: Pid::NOBODY, reads: true }
    }

    /// At most one ask fails per poll, so code that retries in a loop yields to other tasks.
    #[inline(never)]
    pub(crate) fn poll<F: Future + ?Sized>(
        &mut self,
        meta: &ActorMeta,
        mut code: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<F::Output> {
        let told = self.leave();
        let detecting = Detecting(DETECTING.replace(true));
        if let Some(failing) = told {
            return fail(failing, code, cx);
        }
        // The start of a child, inside the turn of its parent, is counted directly: polling it twice at each
        // level would be 2ⁿ polls for a child at depth n.
        if !detecting.0 {
            WAITING.set(Pid::NOBODY);
            let polled = code.as_mut().poll(cx);
            if polled.is_ready() || WAITING.get() != meta.pid() {
                return polled;
            }
        }
        let waits = match count(meta, code.as_mut(), cx) {
            Ok(output) => return Poll::Ready(output),
            Err(None) => return Poll::Pending,
            Err(Some(waits)) => waits,
        };
        match self.enter(meta, waits, cx.waker()) {
            Some(failing) => fail(failing, code, cx),
            None => Poll::Pending,
        }
    }

    /// Adds the actor to the table, unless that closes a cycle and its own ask has to fail.
    fn enter(&mut self, meta: &ActorMeta, waits: Vec<Wait>, waker: &Waker) -> Option<Failing> {
        let (system, waker) = (meta.system().clone(), waker.clone());
        let entry = Blocked { system, waits, reads: self.reads, waker, failing: None };
        let mut table = blocked();
        table.insert(meta.pid(), entry);
        self.listed = meta.pid();
        let (asker, ask, cycle) = victim(&table, &cycle(&table, meta.pid())?)?;
        if asker != meta.pid() {
            let told = table.get_mut(&asker)?;
            told.failing = Some(Failing { ask, error: error(&cycle) });
            let waker = told.waker.clone();
            drop(table);
            waker.wake();
            return None;
        }
        drop(table);
        self.leave();
        Some(Failing { ask, error: error(&cycle) })
    }

    /// Takes the actor out of the table: its code may go on.
    #[inline]
    pub(crate) fn leave_table(&mut self) {
        if let Some(failing) = self.leave() {
            discard(failing);
        }
    }

    /// Removes the actor from the table. Returns the ask that has to fail, if another actor found a cycle.
    #[inline]
    fn leave(&mut self) -> Option<Failing> {
        if self.listed == Pid::NOBODY { None } else { self.take_out() }
    }

    #[cold]
    fn take_out(&mut self) -> Option<Failing> {
        let left = blocked().remove(&self.listed);
        self.listed = Pid::NOBODY;
        let Blocked { waits, failing, .. } = left?;
        discard(waits);
        failing
    }
}

impl Drop for Watch {
    #[inline]
    fn drop(&mut self) {
        if self.listed != Pid::NOBODY {
            discard(self.take_out());
        }
    }
}

/// Polls the code with a failing ask.
fn fail<F: Future + ?Sized>(failing: Failing, code: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    let outer = FAILING.replace(Some(failing));
    let polled = code.poll(cx);
    // Still set when the answer came first.
    discard(FAILING.replace(outer));
    if polled.is_pending() {
        // It may wait in a cycle again.
        cx.waker().wake_by_ref();
    }
    polled
}

struct Detecting(bool);

impl Drop for Detecting {
    fn drop(&mut self) {
        DETECTING.set(self.0);
    }
}

/// Polls with a waker whose clones are counted. Returns what the code waits for, if nothing else can wake it.
fn count<F: Future + ?Sized>(
    meta: &ActorMeta,
    code: Pin<&mut F>,
    cx: &mut Context<'_>,
) -> Result<F::Output, Option<Vec<Wait>>> {
    struct Restore(Option<Counted>);
    impl Drop for Restore {
        fn drop(&mut self) {
            discard(COUNTED.replace(self.0.take()));
        }
    }
    let turn = Arc::new(TurnWaker { inner: cx.waker().clone(), woken: AtomicBool::new(false) });
    let counted = Counted { pid: meta.pid(), waker: turn.clone(), waits: Vec::new(), clones: 0 };
    let outer = Restore(COUNTED.replace(Some(counted)));
    let waker = Waker::from(turn.clone());
    let polled = code.poll(&mut Context::from_waker(&waker));
    drop(waker);
    let counted = COUNTED.take();
    drop(outer);
    if let Poll::Ready(output) = polled {
        return Ok(output);
    }
    let Some(Counted { waker, mut waits, clones, .. }) = counted else { return Err(None) };
    drop(waker);
    let left = Arc::strong_count(&turn) - 1;
    // Synchronizes with clones that were dropped after waking: their wake must be visible here.
    fence(Ordering::Acquire);
    let is_blocked = !waits.is_empty() && left == clones && !turn.woken.load(Ordering::Relaxed);
    // A read that waits for another one of its own actor.
    waits.retain(|wait| wait.actor() != meta.pid());
    Err((is_blocked && !waits.is_empty()).then_some(waits))
}

#[cfg(test)]
mod tests;
