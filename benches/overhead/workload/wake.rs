//! The latency of a tell to an idle actor.

use tokio::task::yield_now;

use super::Sample;
use crate::subject::Subject;
use crate::tally::{Signal, Tally};

/// The number of yields between two messages, so that the actor is idle when the next one
/// arrives.
const SETTLE: usize = 4;

/// Measures each message from just before the send to inside the handler; the signal back to the
/// driver is not included.
pub(crate) async fn one_at_a_time<S: Subject>(subject: &S, operations: u64) -> Sample {
    let signal = Signal::new();
    let actor = subject.spawn(Tally::firing_every(1, &signal)).await;
    let mut latencies = Vec::with_capacity(operations as usize);
    for _ in 0..operations {
        for _ in 0..SETTLE {
            yield_now().await;
        }
        let sent = signal.now();
        S::tell(&actor, 1);
        let handled = signal.fired().await;
        latencies.push(handled - sent);
    }
    S::stop(&actor).await;
    latencies.sort_unstable();
    let at = |percent: usize| latencies[(latencies.len() - 1) * percent / 100] as f64;
    Sample { per_op: at(50), p99: Some(at(99)) }
}
