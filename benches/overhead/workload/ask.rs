//! Round trips: send, handle, reply.

use std::time::Instant;

use super::Sample;
use crate::subject::Subject;
use crate::tally::Tally;

const ASKERS: u64 = 64;

/// One caller that awaits each reply: the latency of a round trip.
pub(crate) async fn in_turn<S: Subject>(subject: &S, operations: u64) -> Sample {
    let actor = subject.spawn(Tally::silent()).await;
    let start = Instant::now();
    for expected in 1..=operations {
        assert_eq!(S::ask(&actor, 1).await, expected);
    }
    let elapsed = start.elapsed();
    S::stop(&actor).await;
    Sample::mean(elapsed.as_nanos() as f64, operations)
}

/// Many callers of one actor: the throughput of round trips.
pub(crate) async fn at_once<S: Subject>(subject: &S, operations: u64) -> Sample {
    let actor = subject.spawn(Tally::silent()).await;
    let each = operations / ASKERS;
    let start = Instant::now();
    let askers: Vec<_> = (0..ASKERS)
        .map(|_| {
            let actor = actor.clone();
            tokio::spawn(async move {
                for _ in 0..each {
                    S::ask(&actor, 1).await;
                }
            })
        })
        .collect();
    for asker in askers {
        asker.await.expect("the asker ends");
    }
    let elapsed = start.elapsed();
    S::stop(&actor).await;
    Sample::mean(elapsed.as_nanos() as f64, each * ASKERS)
}
