//! Steady state of a stream: at most one heap allocation per 16 items beyond the items' own, and memory
//! bounded by the buffer, for any speed of producer and consumer.
//!
//! The counter is global, so there is one test.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use counting_alloc::{Counting, start_counting, stop_counting};
use dactor::spi::Backend;
use dactor::{Context, Expand, ExpandHandler, Outcome, Producer, System};
use futures_util::stream;
use tokio::runtime::{Builder, Runtime};

#[path = "common/numbers.rs"]
mod numbers;

use self::numbers::{Count, Double, Numbers, Sum};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ITEMS: u64 = 100_000;
const PER_ITEM: f64 = 1.0 / 16.0;

/// Produces items for ever, beside the actor, and counts them.
#[derive(Expand)]
#[message(item = Vec<u8>)]
struct Blocks(Arc<AtomicUsize>);

const BLOCK: usize = 1024;

impl ExpandHandler<Blocks> for Numbers {
    async fn expand(
        &mut self,
        Blocks(produced): Blocks,
        mut out: Producer<Vec<u8>>,
        _: &mut Context<Self>,
    ) -> Outcome<()> {
        tokio::spawn(async move {
            while out.send(vec![0; BLOCK]).await.is_ok() {
                produced.fetch_add(1, Ordering::SeqCst);
            }
        });
        Ok(())
    }
}

/// Counts all items of a stream, and the request.
macro_rules! allocations {
    ($items:expr) => {
        allocations!($items, 1)
    };
    ($items:expr, $factor:expr) => {{
        start_counting();
        let mut items = $items.await.unwrap();
        let mut sum = 0;
        while let Some(item) = items.next().await {
            sum += item.unwrap();
        }
        drop(items);
        assert_eq!(sum, $factor * (ITEMS * (ITEMS - 1) / 2));
        stop_counting().allocations as f64 / ITEMS as f64
    }};
}

async fn measure(system: System, name: String) {
    let produced = Arc::new(AtomicUsize::new(0));
    let numbers = system.spawn(Numbers).await.unwrap();
    for warm in [true, false] {
        let figures = [
            ("expand", allocations!(numbers.expand(Count(ITEMS)))),
            ("expand, batches of 32", allocations!(numbers.expand(Count(ITEMS)).batch(32))),
            ("expand, a buffer of 1", allocations!(numbers.expand(Count(ITEMS)).buffer(1))),
            ("reduce", {
                start_counting();
                numbers.reduce(Sum, stream::iter(0..ITEMS)).await.unwrap();
                stop_counting().allocations as f64 / ITEMS as f64
            }),
            ("transform", allocations!(numbers.transform(Double, stream::iter(0..ITEMS)), 2)),
            (
                "transform, batches",
                allocations!(numbers.transform(Double, stream::iter(0..ITEMS)).batch(32), 2),
            ),
        ];
        for (what, allocations) in figures.into_iter().filter(|_| !warm) {
            println!("{name}, {what}: {allocations:.5} per item");
            assert!(allocations <= PER_ITEM, "{name}, {what}: {allocations:.5} per item");
        }
    }
    // An endless producer and a slow consumer.
    for (buffer, batch) in [(32, 1), (32, 32), (4, 1)] {
        produced.store(0, Ordering::SeqCst);
        start_counting();
        let mut blocks = numbers.expand(Blocks(produced.clone())).buffer(buffer).batch(batch).await.unwrap();
        let mut received = 0;
        for _ in 0..100 {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            blocks.next().await.unwrap().unwrap();
            received += 1;
            let ahead = produced.load(Ordering::SeqCst) - received;
            // A batch is held beside the buffer.
            let most = buffer + if batch > 1 { batch } else { 0 };
            assert!(ahead <= most, "{name}: {ahead} items ahead of the consumer with a buffer of {buffer}");
        }
        let peak = stop_counting().peak_bytes;
        // One item being sent and one received; the rest is for the request and the two tasks.
        let most = (buffer + batch + 2) * (BLOCK + 128) + 8 * 1024;
        println!("{name}, buffer {buffer}, batches of {batch}: {peak} bytes at most");
        assert!(peak <= most as isize, "{name}: {peak} bytes with a buffer of {buffer}");
        assert!(peak >= (buffer * BLOCK) as isize, "{name}: the buffer is counted, {peak} bytes");
        drop(blocks);
        // The producer has been notified when this count drops.
        while Arc::strong_count(&produced) > 1 {
            tokio::task::yield_now().await;
        }
    }
    drop(numbers);
    system.shutdown().await.unwrap();
}

fn case(backend: impl Backend, runtime: Runtime, workers: &str) {
    let name = format!("{}, {workers}", backend.name());
    let system = System::builder("numbers").backend(backend).build().unwrap();
    runtime.block_on(async { tokio::spawn(measure(system, name)).await }).unwrap();
}

#[test]
fn at_most_one_allocation_per_16_items_and_bounded_memory() {
    let one = || Builder::new_current_thread().enable_all().build().unwrap();
    let two = || Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    case(dactor_ractor::ractor(), one(), "current thread");
    case(dactor_ractor::ractor(), two(), "two workers");
    case(dactor_kameo::kameo(), one(), "current thread");
    case(dactor_kameo::kameo(), two(), "two workers");
}
