//! Throughput of tells, from the first send until the last message is handled.

use std::time::Instant;

use super::Sample;
use crate::subject::Subject;
use crate::tally::{Signal, Tally};

/// The number of messages per burst; the driver waits until a burst is handled. A run has many
/// bursts: hundreds of thousands of queued messages would measure page faults, not mailboxes.
const BURST: u64 = 4_000;
const SENDERS: u64 = 4;

/// The driver sends, through this many interceptors.
pub(crate) async fn one_sender<S: Subject>(subject: &S, operations: u64, interceptors: usize) -> Sample {
    let signal = Signal::new();
    let tally = Tally::firing_every(BURST, &signal);
    let actor = match interceptors {
        0 => subject.spawn(tally).await,
        some => subject.spawn_intercepted(tally, some).await,
    };
    let bursts = operations / BURST;
    let start = Instant::now();
    for _ in 0..bursts {
        for _ in 0..BURST {
            S::tell(&actor, 1);
        }
        signal.fired().await;
    }
    let elapsed = start.elapsed();
    S::stop(&actor).await;
    Sample::mean(elapsed.as_nanos() as f64, bursts * BURST)
}

/// Four tasks share each burst.
pub(crate) async fn four_senders<S: Subject>(subject: &S, operations: u64) -> Sample {
    let signal = Signal::new();
    let actor = subject.spawn(Tally::firing_every(BURST, &signal)).await;
    let bursts = operations / BURST;
    let start = Instant::now();
    for _ in 0..bursts {
        for _ in 0..SENDERS {
            let actor = actor.clone();
            tokio::spawn(async move {
                for _ in 0..BURST / SENDERS {
                    S::tell(&actor, 1);
                }
            });
        }
        signal.fired().await;
    }
    let elapsed = start.elapsed();
    S::stop(&actor).await;
    Sample::mean(elapsed.as_nanos() as f64, bursts * BURST)
}
