//! 100 000 idle actors fit in well under 2 GiB, and a shutdown leaves no task behind.
//!
//! The counter is global, so there is one test.

use std::time::{Duration, Instant};

use counting_alloc::{Counting, start_counting, stop_counting};
use dactor::spi::Backend;
use dactor::{Actor, System};
use tokio::runtime::{Builder, Handle};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ACTORS: usize = 100_000;
const MOST_BYTES: isize = 1 << 30;
const PATIENCE: Duration = Duration::from_secs(60);

struct Idle;
impl Actor for Idle {}

async fn come_and_go(backend: impl Backend) {
    let name = backend.name();
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let baseline = tasks();
    let system = System::builder("crowd").backend(backend).grace(2 * PATIENCE).build().unwrap();

    let mut actors = Vec::with_capacity(ACTORS);
    start_counting();
    for _ in 0..ACTORS {
        actors.push(system.spawn(|| Idle).await.unwrap());
    }
    // Lets the native tasks run their first poll.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let bytes = stop_counting().live_bytes;
    println!("{name}: {} bytes per idle actor, {} MiB in all", bytes / ACTORS as isize, bytes >> 20);
    assert!(bytes < MOST_BYTES, "{name}: {bytes} bytes for {ACTORS} idle actors");
    assert_eq!(system.actor_count(), ACTORS);
    assert!(tasks() >= baseline + ACTORS, "{name}: a native task for each actor");

    system.shutdown().await.unwrap();
    assert_eq!(system.actor_count(), 0);
    let deadline = Instant::now() + PATIENCE;
    while tasks() > baseline {
        assert!(Instant::now() < deadline, "{name}: {} tasks are left", tasks() - baseline);
        tokio::task::yield_now().await;
    }
}

#[test]
fn a_hundred_thousand_idle_actors() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let all = async {
        come_and_go(dactor_ractor::ractor()).await;
        come_and_go(dactor_kameo::kameo()).await;
    };
    runtime.block_on(all);
}
