//! The cost of an actor without messages: spawn + stop, and memory while idle.

use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::task::yield_now;

use super::Sample;

use crate::subject::Subject;
use crate::tally::Tally;

/// The number of actors that are alive at once; limits the memory of a run.
const BATCH: u64 = 1_000;
/// A subject that leaks tasks fails the bench instead of hanging it.
const PATIENCE: Duration = Duration::from_secs(20);
/// The number of yields until every spawned actor waits on its mailbox.
const SETTLE: usize = 8;

/// Spawns and stops actors in batches. A stop is complete when the actor's tasks are gone from the
/// runtime: asking each library instead would measure its own wait function.
pub(crate) async fn spawn_stop<S: Subject>(subject: &S, operations: u64) -> Sample {
    let mut actors = Vec::with_capacity(BATCH as usize);
    let baseline = alive_tasks();
    let start = Instant::now();
    for _ in 0..operations / BATCH {
        for _ in 0..BATCH {
            actors.push(subject.spawn(Tally::silent()).await);
        }
        for actor in &actors {
            S::stop(actor).await;
        }
        while alive_tasks() > baseline {
            assert!(start.elapsed() < PATIENCE, "stopped actors left tasks");
            yield_now().await;
        }
        actors.clear();
    }
    let elapsed = start.elapsed();
    Sample::mean(elapsed.as_nanos() as f64, operations / BATCH * BATCH)
}

/// Heap bytes held per started, idle actor with one handle to it.
pub(crate) async fn idle_bytes<S: Subject>(subject: &S, operations: u64) -> Sample {
    // The list of handles belongs to the workload: allocate it before counting begins.
    let mut actors = Vec::with_capacity(operations as usize);
    counting_alloc::start_counting();
    for _ in 0..operations {
        actors.push(subject.spawn(Tally::silent()).await);
        // Keep the runtime's queue short: its growth would count as memory of the actors.
        yield_now().await;
    }
    for _ in 0..SETTLE {
        yield_now().await;
    }
    let bytes = counting_alloc::stop_counting().live_bytes;
    Sample::mean(bytes as f64, operations)
}

fn alive_tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}
