use std::future::Future;
use std::sync::mpsc;
use std::time::Duration;

use tokio::time::{self, Instant};

/// A clock that advances only on demand.
///
/// Tokio's paused clock without auto-advance: no time passes until [`advance`](DrivenClock::advance) is
/// called, even when the runtime is idle.
///
/// ```
/// use std::time::Duration;
/// use dactor_core::testkit::DrivenClock;
///
/// DrivenClock::run(|mut clock| async move {
///     let alarm = tokio::spawn(tokio::time::sleep(Duration::from_secs(3600)));
///     clock.advance(Duration::from_secs(3599)).await;
///     assert!(!alarm.is_finished());
///     clock.advance(Duration::from_secs(1)).await;
///     alarm.await.unwrap();
///     assert_eq!(clock.elapsed(), Duration::from_secs(3600));
/// });
/// ```
#[derive(Debug)]
pub struct DrivenClock {
    begin: Instant,
    /// A paused clock does not auto-advance while a blocking task runs; dropping this ends the task.
    _running: mpsc::Sender<()>,
}

impl DrivenClock {
    /// Runs a test on a current-thread runtime of its own, with a driven clock.
    ///
    /// The runtime starts with a paused clock, which makes its timers exact: a clock that is paused later is
    /// between two of tokio's milliseconds, and timers fire up to one late.
    ///
    /// # Panics
    ///
    /// When the runtime cannot be built.
    pub fn run<F: Future>(test: impl FnOnce(DrivenClock) -> F) -> F::Output {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime for the test");
        runtime.block_on(async {
            let (running, ended) = mpsc::channel();
            tokio::task::spawn_blocking(move || ended.recv());
            test(Self { begin: Instant::now(), _running: running }).await
        })
    }

    /// Runs all ready tasks, advances the time in one jump, and runs the tasks that became due.
    ///
    /// Code that sleeps several times in a row sees only one jump: advance in steps for it.
    pub async fn advance(&mut self, by: Duration) {
        settle().await;
        time::advance(by).await;
        settle().await;
    }

    /// How far the clock has been advanced.
    pub fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }
}

/// Yields often enough for chains of wake-ups to run.
async fn settle() {
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}
