//! Keep-alives between the ends of a stream.

use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::time::Instant;

use super::lock;

/// When the last frame of the other end of a stream was received.
pub(super) struct Heard(Mutex<Instant>);

impl Heard {
    pub(super) fn now() -> Self {
        Self(Mutex::new(Instant::now()))
    }

    pub(super) fn note(&self) {
        *lock(&self.0) = Instant::now();
    }

    /// The remaining time until the idle timeout.
    pub(super) fn left(&self, limit: Duration) -> Option<Duration> {
        let silent = lock(&self.0).elapsed();
        limit.checked_sub(silent).filter(|left| !left.is_zero())
    }

    /// Waits until the idle timeout expires.
    pub(super) async fn silence(&self, limit: Duration) {
        while let Some(left) = self.left(limit) {
            tokio::time::sleep(left).await;
        }
    }
}

/// The keep-alive interval for this idle timeout.
pub(super) fn sign_every(limit: Duration) -> Duration {
    (limit / 3).clamp(Duration::from_millis(1), Duration::from_secs(10))
}

/// Races two futures; prefers the first one if both are ready.
pub(super) async fn either<T, U>(
    this: impl Future<Output = T>,
    other: impl Future<Output = U>,
) -> Result<T, U> {
    match select(pin!(this), pin!(other)).await {
        Either::Left((output, _)) => Ok(output),
        Either::Right((output, _)) => Err(output),
    }
}

/// Awaits a future, and calls a function periodically meanwhile.
pub(super) async fn beside<T>(
    future: impl Future<Output = T>,
    every: Duration,
    mut now_and_then: impl FnMut(),
) -> T {
    let mut future = pin!(future);
    loop {
        match either(&mut future, tokio::time::sleep(every)).await {
            Ok(done) => return done,
            Err(()) => now_and_then(),
        }
    }
}
