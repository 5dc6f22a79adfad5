//! The actor state that all subjects share, so that they do the same work per message.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::sync::Notify;

/// Signals the driver when the actor has *handled* enough messages. A tell ends when it is handled,
/// not when it is enqueued, so the actor stops the clock.
pub(crate) struct Signal {
    origin: Instant,
    fired_at: AtomicU64,
    notify: Notify,
}

impl Signal {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { origin: Instant::now(), fired_at: AtomicU64::new(0), notify: Notify::new() })
    }

    /// Nanoseconds since the signal was made; one clock for the sender and the handler.
    pub(crate) fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// Waits for the next signal and returns the time at which the handler ran.
    pub(crate) async fn fired(&self) -> u64 {
        self.notify.notified().await;
        self.fired_at.load(Ordering::Acquire)
    }

    fn fire(&self) {
        self.fired_at.store(self.now(), Ordering::Release);
        self.notify.notify_one();
    }
}

/// A sum that fires a signal each time it has grown by a given amount.
pub(crate) struct Tally {
    sum: u64,
    fires_at: u64,
    every: u64,
    signal: Option<Arc<Signal>>,
}

impl Tally {
    /// Counts and never fires; holds no heap memory.
    pub(crate) fn silent() -> Self {
        Self { sum: 0, fires_at: u64::MAX, every: 0, signal: None }
    }

    /// Fires `signal` whenever the sum reaches the next multiple of `every`.
    pub(crate) fn firing_every(every: u64, signal: &Arc<Signal>) -> Self {
        Self { sum: 0, fires_at: every, every, signal: Some(Arc::clone(signal)) }
    }

    /// The body of every handler.
    pub(crate) fn add(&mut self, n: u64) -> u64 {
        self.sum += n;
        if self.sum == self.fires_at {
            self.fires_at += self.every;
            if let Some(signal) = &self.signal {
                signal.fire();
            }
        }
        self.sum
    }
}
