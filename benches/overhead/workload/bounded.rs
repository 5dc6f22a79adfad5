//! Throughput of sends that wait for room, from the first until the last message is handled.

use std::time::Instant;

use super::Sample;
use crate::subject::Subject;
use crate::tally::{Signal, Tally};

const CAPACITY: usize = 64;

/// The driver sends all messages without pauses: the bound keeps the queue short. `None` if the
/// library has no bounded mailbox.
pub(crate) async fn one_sender<S: Subject>(subject: &S, operations: u64) -> Option<Sample> {
    let signal = Signal::new();
    let actor = subject.spawn_bounded(Tally::firing_every(operations, &signal), CAPACITY).await?;
    let start = Instant::now();
    for _ in 0..operations {
        S::send(&actor, 1).await;
    }
    signal.fired().await;
    let elapsed = start.elapsed();
    Some(Sample::mean(elapsed.as_nanos() as f64, operations))
}
