//! The cost of a stop does not depend on the number of actors its watcher watches, a thousand or ten
//! thousand: counted in allocations, which do not depend on the machine.
//!
//! The counter is global, so there is one test.

use counting_alloc::{Counting, start_counting, stop_counting};
use dactor::spi::Backend;
use dactor::{Actor, ActorRef, Context, Handler, Message, Outcome, System, Terminated};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const FEW: usize = 1_000;
const MANY: usize = 10_000;
/// How many of them are stopped.
const STOPS: usize = 500;

struct Target;
impl Actor for Target {}

struct Watcher {
    told: usize,
    done: Option<oneshot::Sender<()>>,
}
impl Actor for Watcher {}

#[derive(Message)]
struct Watch(Vec<ActorRef<Target>>);

impl Handler<Watch> for Watcher {
    async fn handle(&mut self, Watch(targets): Watch, ctx: &mut Context<Self>) -> Outcome<()> {
        for target in &targets {
            ctx.watch(target)?;
        }
        Ok(())
    }
}

impl Handler<Terminated> for Watcher {
    async fn handle(&mut self, _: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        self.told += 1;
        if self.told == STOPS
            && let Some(done) = self.done.take()
        {
            let _ = done.send(());
        }
        Ok(())
    }
}

/// Allocations until the watcher has been notified of all stops.
async fn stops(backend: impl Backend, watched: usize) -> usize {
    let system = System::builder("watched").backend(backend).build().unwrap();
    let (done, told) = oneshot::channel();
    let watcher = system.spawn(Watcher { told: 0, done: Some(done) }).await.unwrap();
    let mut targets = Vec::with_capacity(watched);
    for _ in 0..watched {
        targets.push(system.spawn(Target).await.unwrap());
    }
    watcher.ask(Watch(targets.clone())).await.unwrap();
    // Lets the native tasks run their first poll.
    for _ in 0..watched {
        tokio::task::yield_now().await;
    }
    start_counting();
    for target in &targets[..STOPS] {
        target.stop();
    }
    told.await.unwrap();
    let allocations = stop_counting().allocations;
    system.shutdown().await.unwrap();
    allocations
}

#[test]
fn a_stop_costs_the_same_however_many_are_watched() {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        for backend in ["ractor", "kameo"] {
            let mut counts = Vec::new();
            // The first run initializes everything lazy.
            for watched in [FEW, FEW, MANY] {
                counts.push(match backend {
                    "ractor" => stops(dactor_ractor::ractor(), watched).await,
                    _ => stops(dactor_kameo::kameo(), watched).await,
                });
            }
            let [_, few, many] = counts[..] else { unreachable!("there are three") };
            println!("{backend}: {few} allocations for {STOPS} stops of {FEW}, {many} of {MANY}");
            assert!(many.abs_diff(few) <= 16, "{backend}: {few} allocations, and {many}");
        }
    });
}
