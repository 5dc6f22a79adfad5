//! A thousand concurrent streams on one actor: half of the consumers leave at random, and the actor is
//! restarted in the middle. Every remaining consumer gets its items in order and then exactly one end or one
//! error; afterwards no item, task or memory is left.
//!
//! `STREAM_STORM_SEED` repeats a run. The counter is global, so there is one test.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::time::Duration;

use common::{SplitMix64, hide_ordered_panics, number};
use counting_alloc::{Counting, start_counting, stop_counting};
use dactor::{
    Actor, ActorRef, Context, ErrorKind, Expand, ExpandHandler, Handler, Input, Message, Outcome, Producer,
    Reduce, ReduceHandler, ReduceRequest, Result, System, Transform, TransformHandler,
};
use futures_util::{Stream, StreamExt, stream};
use tokio::task::yield_now;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const STREAMS: u64 = 1_000;
const ITEMS: u64 = 200;

static LIVE: AtomicIsize = AtomicIsize::new(0);

/// Counts its live instances.
#[derive(Debug)]
struct Item(u64);

impl Item {
    fn new(number: u64) -> Self {
        LIVE.fetch_add(1, Ordering::SeqCst);
        Self(number)
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Source;
impl Actor for Source {}

#[derive(Expand)]
#[message(item = Item)]
struct Count {
    beside: bool,
}

impl ExpandHandler<Count> for Source {
    async fn expand(&mut self, count: Count, mut out: Producer<Item>, _: &mut Context<Self>) -> Outcome<()> {
        let produce = async move {
            for number in 0..ITEMS {
                out.send(Item::new(number)).await?;
                if number % 4 == 0 {
                    yield_now().await;
                }
            }
            out.finish().await
        };
        if count.beside {
            tokio::spawn(produce);
            return Ok(());
        }
        Ok(produce.await?)
    }
}

#[derive(Transform)]
#[message(input = Item, output = Item)]
struct Same;

impl TransformHandler<Same> for Source {
    async fn transform(
        &mut self,
        _: Same,
        mut input: Input<Item>,
        mut out: Producer<Item>,
        _: &mut Context<Self>,
    ) -> Outcome<()> {
        tokio::spawn(async move {
            while let Some(item) = input.next().await {
                out.send(item?).await?;
            }
            out.finish().await
        });
        Ok(())
    }
}

#[derive(Reduce)]
#[message(item = Item, reply = u64)]
struct Total;

impl ReduceHandler<Total> for Source {
    async fn reduce(&mut self, _: Total, mut input: Input<Item>, ctx: &mut Context<Self>) -> Outcome<u64> {
        let (later, promised) = ctx.reply_later::<ReduceRequest<Total>>();
        tokio::spawn(async move {
            let mut count = 0;
            while let Some(item) = input.next().await {
                match item {
                    Ok(Item(number)) => assert_eq!(number, count, "in order"),
                    Err(error) => return later.fail(error),
                }
                count += 1;
                yield_now().await;
            }
            later.reply(count)
        });
        promised
    }
}

#[derive(Message)]
struct Crash;

impl Handler<Crash> for Source {
    async fn handle(&mut self, _: Crash, _: &mut Context<Self>) -> Outcome<()> {
        panic!("as ordered");
    }
}

fn numbers() -> impl Stream<Item = Item> + Send + 'static {
    stream::iter(0..ITEMS).map(Item::new)
}

/// The results of the consumers.
#[derive(Debug, Default)]
struct Tally {
    whole: AtomicUsize,
    interrupted: AtomicUsize,
    left: AtomicUsize,
}

/// Takes items until it leaves, or until the end.
async fn consume(mut items: impl Stream<Item = Result<Item>> + Unpin, leave: Option<u64>, tally: &Tally) {
    let mut next = 0;
    loop {
        if leave == Some(next) {
            tally.left.fetch_add(1, Ordering::SeqCst);
            return;
        }
        match items.next().await {
            Some(Ok(Item(number))) => assert_eq!(number, next, "in order, and once"),
            Some(Err(error)) => {
                assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}");
                tally.interrupted.fetch_add(1, Ordering::SeqCst);
                break;
            }
            None => {
                assert_eq!(next, ITEMS, "a short stream ends with an error");
                tally.whole.fetch_add(1, Ordering::SeqCst);
                break;
            }
        }
        next += 1;
        if next % 8 == 0 {
            yield_now().await;
        }
    }
    assert!(items.next().await.is_none(), "there is one end");
}

async fn request(source: ActorRef<Source>, kind: u64, leave: Option<u64>, tally: Arc<Tally>) {
    match kind {
        0 => {
            let total = source.reduce(Total, numbers()).buffer(8);
            let total = match leave {
                Some(after) => {
                    let total = total.into_future();
                    tokio::select! {
                        biased;
                        () = async { for _ in 0..after { yield_now().await } } => {
                            tally.left.fetch_add(1, Ordering::SeqCst);
                            return;
                        }
                        total = total => total,
                    }
                }
                None => total.await,
            };
            match total {
                Ok(count) => {
                    assert_eq!(count, ITEMS);
                    tally.whole.fetch_add(1, Ordering::SeqCst);
                }
                Err(error) => {
                    assert!(format!("{error:#}").contains("instance"), "{error:#}");
                    tally.interrupted.fetch_add(1, Ordering::SeqCst);
                }
            }
        }
        1 => consume(source.transform(Same, numbers()).buffer(8).await.unwrap(), leave, &tally).await,
        2 => consume(source.expand(Count { beside: true }).batch(16).await.unwrap(), leave, &tally).await,
        3 => {
            // In the handler: the others wait behind it.
            let items = source.expand(Count { beside: false }).buffer(64).await.unwrap();
            consume(items, leave, &tally).await;
        }
        _ => consume(source.expand(Count { beside: true }).await.unwrap(), leave, &tally).await,
    }
}

async fn storm(system: System, seed: u64) -> Arc<Tally> {
    let mut random = SplitMix64(seed);
    let source = system.spawn(|| Source).await.unwrap();
    let tally = Arc::new(Tally::default());
    let mut consumers = Vec::new();
    for number in 0..STREAMS {
        let leave = (number % 2 == 0).then(|| random.below(ITEMS));
        let kind = random.below(10);
        consumers.push(tokio::spawn(request(source.clone(), kind, leave, tally.clone())));
    }
    for _ in 0..5 + random.below(60) {
        yield_now().await;
    }
    source.tell(Crash).unwrap();
    for consumer in consumers {
        consumer.await.unwrap();
    }
    drop(source);
    system.shutdown().await.unwrap();
    tally
}

fn run(backend: &str, seed: u64) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let builder = System::builder("storm").grace(Duration::from_secs(10));
    let system = match backend {
        "ractor" => builder.backend(dactor_ractor::ractor()).build().unwrap(),
        _ => builder.backend(dactor_kameo::kameo()).build().unwrap(),
    };
    runtime.block_on(async {
        let storm = tokio::spawn(storm(system, seed));
        let tally = tokio::time::timeout(Duration::from_secs(120), storm).await.expect("it hangs").unwrap();
        println!("{backend}: {tally:?}");
        let ends = [&tally.whole, &tally.interrupted, &tally.left].map(|ends| ends.load(Ordering::SeqCst));
        assert_eq!(ends.iter().sum::<usize>(), STREAMS as usize, "each has one end: {tally:?}");
        // Producers of consumers that left are notified at their next send.
        let gone = async {
            while tokio::runtime::Handle::current().metrics().num_alive_tasks() > 0
                || LIVE.load(Ordering::SeqCst) != 0
            {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(10), gone).await.is_err() {
            let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
            panic!("{tasks} tasks and {} items are left", LIVE.load(Ordering::SeqCst));
        }
    });
    drop(runtime);
}

#[test]
fn a_thousand_streams_and_a_restart_leave_nothing_behind() {
    hide_ordered_panics();
    let seed = number("STREAM_STORM_SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.unwrap().as_nanos() as u64
    });
    println!("STREAM_STORM_SEED={seed}");
    for backend in ["ractor", "kameo"] {
        // The first run initializes everything lazy.
        run(backend, seed);
        for round in 1..=5 {
            start_counting();
            run(backend, seed + round);
            let left = stop_counting().live_bytes;
            println!("{backend}: {left} bytes left");
            assert!(left <= 4 * 1024, "{left} bytes are left after {STREAMS} streams");
        }
    }
}
