//! Steady state, small message and handler: one heap allocation per tell, and one per ask; interceptors that do nothing
//! add none. Two per read at the most, also when it waits.
//!
//! The counter is global, so there is one test.

use std::sync::Arc;

use counting_alloc::{Counting, start_counting, stop_counting};
use dactor::spi::Backend;
use dactor::{
    Actor, ActorRef, Context, Handler, Inbound, Message, Outcome, PendingReply, ReadContext, ReadHandler,
    System,
};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MESSAGES: u64 = 100_000;
const BURST: u64 = 1_000;
const PER_TELL: f64 = 1.05;
const PER_ASK: f64 = 1.05;
const PER_READ: f64 = 2.05;
/// As many reads as run at once.
const READS: usize = 64;

/// Adds numbers up, and notifies after every `every` messages.
struct Sum {
    total: u64,
    handled: u64,
    every: u64,
    done: Arc<Notify>,
}
impl Actor for Sum {}

#[derive(Message)]
#[message(reply = u64)]
struct Add(u64);

impl Handler<Add> for Sum {
    async fn handle(&mut self, Add(number): Add, _ctx: &mut Context<Self>) -> Outcome<u64> {
        self.total += number;
        self.handled += 1;
        if self.handled == self.every {
            self.handled = 0;
            self.done.notify_one();
        }
        Ok(self.total)
    }
}

/// Gives the sum, at once or after the task has given way to others.
#[derive(Message)]
#[message(read, reply = u64)]
struct Total {
    waits: bool,
}

impl ReadHandler<Total> for Sum {
    async fn read(&self, Total { waits }: Total, _ctx: &ReadContext<Self>) -> Outcome<u64> {
        if waits {
            tokio::task::yield_now().await;
        }
        Ok(self.total)
    }
}

/// The mean number of allocations per read, with `burst` reads at once.
async fn reads(sum: &ActorRef<Sum>, burst: usize, waits: bool) -> f64 {
    let mut pending: Vec<PendingReply<Total>> = Vec::with_capacity(READS);
    let mut rounds = 0;
    for counts in [false, true] {
        if counts {
            start_counting();
        }
        rounds = MESSAGES as usize / burst / 10;
        for _ in 0..rounds {
            if burst == 1 {
                sum.ask(Total { waits }).await.unwrap();
                continue;
            }
            pending.extend((0..burst).map(|_| sum.ask(Total { waits }).enqueue().unwrap()));
            for reply in pending.drain(..) {
                reply.await.unwrap();
            }
        }
    }
    stop_counting().allocations as f64 / (rounds * burst) as f64
}

async fn measure_reads(system: System) {
    let sum = Sum { total: 0, handled: 0, every: u64::MAX, done: Arc::default() };
    let sum = system.spawn(sum).await.unwrap();
    for burst in [1, READS] {
        for waits in [false, true] {
            let per_read = reads(&sum, burst, waits).await;
            let figures = format!("{burst} reads at once, waiting: {waits}: {per_read:.4} per read");
            println!("{figures}");
            assert!(per_read <= PER_READ, "{figures}; at most {PER_READ}");
        }
    }
    system.shutdown().await.unwrap();
}

struct NoOp;
impl Inbound for NoOp {}

/// Tells `burst` messages, waits until the last one is handled, and so on.
async fn tells(sum: &ActorRef<Sum>, done: &Notify, burst: u64, messages: u64) {
    for _ in 0..messages / burst {
        for number in 0..burst {
            sum.tell(Add(number)).unwrap();
        }
        done.notified().await;
    }
}

/// Asks with `burst` replies outstanding.
async fn asks(sum: &ActorRef<Sum>, burst: u64, pending: &mut Vec<PendingReply<Add>>, messages: u64) {
    for _ in 0..messages / burst {
        if burst == 1 {
            sum.ask(Add(1)).await.unwrap();
            continue;
        }
        pending.extend((0..burst).map(|number| sum.ask(Add(number)).enqueue().unwrap()));
        for reply in pending.drain(..) {
            reply.await.unwrap();
        }
    }
}

/// The mean number of allocations per tell and per ask.
async fn measure(system: System, burst: u64, interceptors: usize) -> (f64, f64) {
    let done = Arc::new(Notify::new());
    let mut pending = Vec::with_capacity(BURST as usize);
    let sum = Sum { total: 0, handled: 0, every: burst, done: done.clone() };
    let sum = (0..interceptors).fold(system.spawn(sum), |spawn, _| spawn.inbound(NoOp)).await.unwrap();

    tells(&sum, &done, burst, 10 * BURST).await;
    start_counting();
    tells(&sum, &done, burst, MESSAGES).await;
    let told = stop_counting();

    asks(&sum, burst, &mut pending, 10 * BURST).await;
    start_counting();
    asks(&sum, burst, &mut pending, MESSAGES).await;
    let asked = stop_counting();

    system.shutdown().await.unwrap();
    (told.allocations as f64 / MESSAGES as f64, asked.allocations as f64 / MESSAGES as f64)
}

fn case(
    backend: impl Backend,
    runtime: Runtime,
    workers: &str,
    (pace, burst): (&str, u64),
    interceptors: usize,
) {
    let name = backend.name();
    let system = System::builder("sums").backend(backend).build().unwrap();
    // In a task, as in an application, and not in `block_on`, which has a thread of its own.
    let measured = runtime.block_on(async { tokio::spawn(measure(system, burst, interceptors)).await });
    let (tell, ask) = measured.unwrap();
    let figures = format!(
        "{name}, {workers}, {pace}, {interceptors} interceptors: {tell:.4} per tell, {ask:.4} per ask"
    );
    println!("{figures}");
    assert!(tell <= PER_TELL, "{figures}; at most {PER_TELL} per tell");
    assert!(ask <= PER_ASK, "{figures}; at most {PER_ASK} per ask");
}

#[test]
fn one_allocation_per_tell_and_per_ask() {
    let one = || Builder::new_current_thread().enable_all().build().unwrap();
    let two = || Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for pace in [("bursts", BURST), ("paced", 1)] {
        for interceptors in [0, 5] {
            case(dactor_ractor::ractor(), one(), "current thread", pace, interceptors);
            case(dactor_ractor::ractor(), two(), "two workers", pace, interceptors);
            case(dactor_kameo::kameo(), one(), "current thread", pace, interceptors);
            case(dactor_kameo::kameo(), two(), "two workers", pace, interceptors);
        }
    }
    for runtime in [one(), two()] {
        let ractor = System::builder("reads").backend(dactor_ractor::ractor()).build().unwrap();
        runtime.block_on(async { tokio::spawn(measure_reads(ractor)).await }).unwrap();
        let kameo = System::builder("reads").backend(dactor_kameo::kameo()).build().unwrap();
        runtime.block_on(async { tokio::spawn(measure_reads(kameo)).await }).unwrap();
    }
}
