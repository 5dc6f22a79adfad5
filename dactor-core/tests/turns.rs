//! When a cell that is run by turns returns to its host, polled by hand as an adapter would.

use std::any::Any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll, Wake, Waker};

use dactor_core::spi::{Backend, Cell, Exit, NativeEnd, NativeHandle, TURN, TurnEnd, exit_watch};
use dactor_core::{Actor, ActorRef, Context, Handler, Message, Outcome, Result, System};

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A backend that hands its cell to the test.
#[derive(Clone, Default)]
struct ByHand {
    cell: Arc<Mutex<Option<Cell>>>,
    host: Arc<Count>,
}

struct TestHandle(Arc<Count>);

impl NativeHandle for TestHandle {
    fn wake(&self) {
        self.0.clone().wake();
    }

    fn native(&self) -> &(dyn Any + Send + Sync) {
        self
    }
}

impl Backend for ByHand {
    fn name(&self) -> &'static str {
        "by-hand"
    }

    fn spawn(&self, cell: Cell) -> Result<()> {
        cell.bind(TestHandle(self.host.clone()));
        *self.cell.lock().unwrap() = Some(cell);
        Ok(())
    }
}

#[derive(Default)]
struct Adder(usize);
impl Actor for Adder {}

struct Add;
impl Message for Add {
    type Reply = usize;
    type Access = dactor_core::Exclusive;
}

impl Handler<Add> for Adder {
    async fn handle(&mut self, Add: Add, _ctx: &mut Context<Self>) -> Outcome<usize> {
        self.0 += 1;
        Ok(self.0)
    }
}

struct Bench {
    actor: ActorRef<Adder>,
    cell: Cell,
    host: Arc<Count>,
    waker: Arc<Count>,
}

impl Bench {
    async fn new() -> Self {
        let backend = ByHand::default();
        let system = System::builder("turns").backend(backend.clone()).build().unwrap();
        let actor = system.spawn(Adder::default()).await.unwrap();
        let cell = backend.cell.lock().unwrap().take().unwrap();
        Self { actor, cell, host: backend.host, waker: Arc::default() }
    }

    fn turn(&mut self) -> &'static str {
        let waker = Waker::from(self.waker.clone());
        match self.cell.poll_turn(&mut TaskContext::from_waker(&waker)) {
            Poll::Pending => "pending",
            Poll::Ready(TurnEnd::Idle) => "idle",
            Poll::Ready(TurnEnd::More) => "more",
            Poll::Ready(TurnEnd::Ended(_)) => "ended",
        }
    }

    /// Tells once, and returns how often that woke the host and the waker.
    fn tell(&self) -> (usize, usize) {
        let before = (self.host.0.load(Ordering::SeqCst), self.waker.0.load(Ordering::SeqCst));
        self.actor.tell(Add).unwrap();
        (self.host.0.load(Ordering::SeqCst) - before.0, self.waker.0.load(Ordering::SeqCst) - before.1)
    }

    /// Lets the worker become idle, and returns how often that woke the waker.
    async fn run_dry(&self) -> usize {
        let before = self.waker.0.load(Ordering::SeqCst);
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
        self.waker.0.load(Ordering::SeqCst) - before
    }
}

#[tokio::test]
async fn a_cell_that_nobody_reaches_natively_stays_pending() {
    let mut bench = Bench::new().await;
    assert_eq!(bench.tell(), (1, 0), "a fresh cell waits in its host");
    assert_eq!(bench.turn(), "pending");
    assert_eq!(bench.run_dry().await, 0, "it waits for nothing but messages");
    assert_eq!(bench.tell(), (0, 1));
    assert_eq!(bench.turn(), "pending");
    assert_eq!(bench.tell(), (0, 1));
    assert_eq!(bench.turn(), "pending");
    assert_eq!(bench.turn(), "idle", "something else polled it: the runtime may have a signal");
    assert_eq!(bench.tell(), (1, 0));
}

#[tokio::test]
async fn giving_out_the_handle_sends_a_pending_cell_back() {
    let mut bench = Bench::new().await;
    bench.tell();
    assert_eq!(bench.turn(), "pending");
    assert!(bench.actor.native().is_some());
    assert_eq!(bench.waker.0.load(Ordering::SeqCst), 1);
    assert_eq!(bench.turn(), "idle");
    assert!(bench.actor.native().is_some());
    assert_eq!(bench.waker.0.load(Ordering::SeqCst), 1, "once is enough");
}

#[tokio::test]
async fn an_exposed_cell_lingers_until_its_worker_runs_dry_and_less_and_less_in_vain() {
    let mut bench = Bench::new().await;
    assert!(bench.actor.native().is_some());
    assert_eq!(bench.turn(), "idle", "nothing was handled: nothing to linger for");
    for skipped in [0, 1, 3] {
        for _ in 0..skipped {
            assert_eq!(bench.tell(), (1, 0));
            assert_eq!(bench.turn(), "idle");
        }
        assert_eq!(bench.tell(), (1, 0));
        assert_eq!(bench.turn(), "pending", "it lingers");
        assert_eq!(bench.run_dry().await, 1);
        assert_eq!(bench.turn(), "idle");
        assert_eq!(bench.run_dry().await, 0, "an idle cell is not polled again");
    }
}

#[tokio::test]
async fn lingering_that_pays_goes_on() {
    let mut bench = Bench::new().await;
    assert!(bench.actor.native().is_some());
    assert_eq!(bench.tell(), (1, 0));
    assert_eq!(bench.turn(), "pending");
    for _ in 0..3 {
        assert_eq!(bench.tell(), (0, 1), "a conversation spares the host");
        assert_eq!(bench.turn(), "pending");
    }
}

#[tokio::test]
async fn a_turn_ends_after_its_budget() {
    for exposed in [false, true] {
        let mut bench = Bench::new().await;
        if exposed {
            assert!(bench.actor.native().is_some());
        }
        for _ in 0..2 * TURN + 1 {
            bench.tell();
        }
        for _ in 0..2 {
            bench.waker.0.store(0, Ordering::SeqCst);
            assert_eq!(bench.turn(), "pending", "other tasks run first");
            assert_eq!(bench.waker.0.load(Ordering::SeqCst), 1, "the cell has woken its task");
            assert_eq!(bench.turn(), "more");
        }
        let last = bench.actor.ask(Add).enqueue().unwrap();
        assert_eq!(bench.turn(), "pending");
        assert_eq!(last.await.unwrap(), 2 * TURN + 2, "nothing is handled before or after its turn");
    }
}

#[tokio::test]
async fn an_idle_cell_is_woken_to_stop() {
    let mut bench = Bench::new().await;
    bench.actor.stop();
    assert_eq!(bench.host.0.load(Ordering::SeqCst), 1, "a wake is what a stop is by default");
    assert_eq!(bench.turn(), "ended");
    assert!(bench.actor.is_alive() == Some(false));
}

#[tokio::test]
async fn a_native_stop_that_the_cell_asked_for_is_run() {
    // The host's own stop: the native runtime tells the adapter, which tells the cell.
    let mut bench = Bench::new().await;
    bench.actor.stop();
    bench.host.0.store(0, Ordering::SeqCst);
    bench.cell.end(NativeEnd::Stop);
    assert_eq!(bench.host.0.load(Ordering::SeqCst), 1, "the cell asks for the turn in which it ends");
    assert_eq!(bench.turn(), "ended");
}

#[tokio::test]
async fn an_ender_ends_a_cell_wherever_it_is_and_the_exit_is_told() {
    for (how, exposed) in [(NativeEnd::Drain, true), (NativeEnd::Stop, false), (NativeEnd::Kill, true)] {
        let mut bench = Bench::new().await;
        if exposed {
            assert!(bench.actor.native().is_some());
        }
        let (ender, (teller, watch)) = (bench.cell.ender(), exit_watch());
        bench.tell();
        bench.turn();
        bench.host.0.store(0, Ordering::SeqCst);
        bench.waker.0.store(0, Ordering::SeqCst);
        std::thread::spawn(move || ender.clone().end(how)).join().unwrap();
        let woken = bench.host.0.load(Ordering::SeqCst) + bench.waker.0.load(Ordering::SeqCst);
        assert_eq!(woken, 1, "{how:?}: the cell is woken once");
        teller.tell(bench.cell.run().await);
        let exit = watch.exit().await;
        assert_eq!(matches!(exit, Exit::Killed), how == NativeEnd::Kill, "{exit:?}");
    }
}

#[tokio::test]
async fn a_cell_that_has_ended_says_so_again_and_wakes_nothing() {
    let mut bench = Bench::new().await;
    bench.actor.stop();
    assert!(matches!(bench.cell.run().await, Exit::Normal));
    bench.host.0.store(0, Ordering::SeqCst);
    bench.cell.end(NativeEnd::Kill);
    bench.cell.ender().end(NativeEnd::Stop);
    assert_eq!(bench.host.0.load(Ordering::SeqCst), 0);
    for _ in 0..2 {
        assert!(matches!(bench.cell.run().await, Exit::Normal));
        assert!(matches!(bench.cell.turn().await, TurnEnd::Ended(Exit::Normal)));
    }
}

#[tokio::test]
async fn an_exit_that_was_not_told_is_a_kill() {
    let (teller, watch) = exit_watch();
    drop(teller);
    assert!(matches!(watch.exit().await, Exit::Killed));
    let ender = Bench::new().await.cell.ender();
    ender.end(NativeEnd::Stop);
    assert_eq!(format!("{ender:?}"), "Ender(None)", "it keeps nothing alive");
}

#[test]
fn a_boxed_backend_is_that_backend() {
    let backend: Box<dyn Backend> = Box::new(ByHand::default());
    assert_eq!(System::builder("turns").backend(backend).build().unwrap().backend_name(), "by-hand");
}

#[tokio::test]
async fn a_resident_cell_asks_to_be_polled_again_only_when_there_is_more() {
    let mut bench = Bench::new().await;
    let run = |bench: &mut Bench| {
        let waker = Waker::from(bench.waker.clone());
        assert!(bench.cell.poll_run(&mut TaskContext::from_waker(&waker)).is_pending());
        bench.waker.0.swap(0, Ordering::SeqCst)
    };
    assert_eq!(run(&mut bench), 0);
    bench.tell();
    assert_eq!(run(&mut bench), 1, "the message's own wake");
    for _ in 0..TURN + 1 {
        bench.actor.tell(Add).unwrap();
    }
    bench.waker.0.store(0, Ordering::SeqCst);
    assert_eq!(run(&mut bench), 1, "the budget is spent");
    assert_eq!(run(&mut bench), 0);
}
