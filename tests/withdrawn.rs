//! Clients give up on a stuck actor a million times: memory stays flat, and a kill takes effect immediately.
//!
//! The counter is global, so there is one test.

use std::sync::Arc;
use std::time::{Duration, Instant};

use counting_alloc::{Counting, start_counting, stop_counting};
use dactor::spi::Backend;
use dactor::{Actor, ActorRef, Context, ErrorKind, Handler, Message, Outcome, System};
use tokio::sync::Notify;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ASKS: u64 = 1_000_000;
const RETRIES: u64 = 20_000;
const CLIENTS: u64 = 100;
/// Allowance beyond the memory of a few thousand messages.
const FLAT: isize = 2 << 20;
const AT_ONCE: Duration = Duration::from_millis(100);

/// Never completes its first message.
struct Stuck(Arc<Notify>);
impl Actor for Stuck {}

#[derive(Message)]
struct Block;

#[derive(Message)]
#[message(reply = u64)]
struct Question(#[expect(dead_code)] u64);

impl Handler<Block> for Stuck {
    async fn handle(&mut self, Block: Block, _: &mut Context<Self>) -> Outcome<()> {
        self.0.notify_one();
        std::future::pending().await
    }
}

impl Handler<Question> for Stuck {
    async fn handle(&mut self, _: Question, _: &mut Context<Self>) -> Outcome<u64> {
        unreachable!("the actor is stuck")
    }
}

async fn stuck(backend: impl Backend) -> ActorRef<Stuck> {
    let system = System::builder("stuck").backend(backend).build().unwrap();
    let blocked = Arc::new(Notify::new());
    let actor = system.spawn(Stuck(blocked.clone())).await.unwrap();
    actor.tell(Block).unwrap();
    blocked.notified().await;
    actor
}

async fn assert_killed_at_once(actor: &ActorRef<Stuck>) {
    let start = Instant::now();
    actor.kill();
    actor.wait().await.unwrap();
    assert!(start.elapsed() < AT_ONCE, "killed in {:?}", start.elapsed());
}

/// Every thousandth ask stays; the others are dropped neither in FIFO nor in LIFO order.
async fn dropped(backend: impl Backend) {
    let actor = stuck(backend).await;
    start_counting();
    let mut kept = Vec::new();
    for number in (0..ASKS).step_by(1000) {
        let mut asked: Vec<_> =
            (number..number + 1000).map(|number| actor.ask(Question(number)).enqueue().unwrap()).collect();
        kept.extend(asked.pop());
        let middle = asked.split_off(500);
        drop(asked);
        middle.into_iter().rev().for_each(drop);
    }
    let count = stop_counting();
    assert!(count.peak_bytes < FLAT, "{} bytes for asks that are gone", count.peak_bytes);
    assert_eq!(actor.queued(), Some(kept.len()));
    assert_killed_at_once(&actor).await;
    assert_eq!(actor.system().dead_letter_count(), kept.len() as u64);
    for asked in kept {
        assert_eq!(asked.await.unwrap_err().kind(), ErrorKind::Stopped);
    }
}

/// Clients whose asks time out, and that retry.
async fn retried(backend: impl Backend) {
    let actor = stuck(backend).await;
    start_counting();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let actor = actor.clone();
            tokio::spawn(async move {
                for number in 0..RETRIES / CLIENTS {
                    let asked = actor.ask(Question(number)).timeout(Duration::from_millis(1));
                    assert_eq!(asked.await.unwrap_err().kind(), ErrorKind::Timeout);
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    let count = stop_counting();
    assert!(count.peak_bytes < FLAT, "{} bytes for asks that are gone", count.peak_bytes);
    assert_eq!(actor.queued(), Some(0));
    assert_killed_at_once(&actor).await;
    assert_eq!(actor.system().dead_letter_count(), 0);
}

#[test]
fn a_stuck_actor_does_not_grow_with_asks_that_are_gone() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        dropped(dactor_ractor::ractor()).await;
        dropped(dactor_kameo::kameo()).await;
        retried(dactor_ractor::ractor()).await;
        retried(dactor_kameo::kameo()).await;
    });
}
