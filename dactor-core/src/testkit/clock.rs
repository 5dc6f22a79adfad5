use std::future::Future;
use std::sync::mpsc;
use std::time::Duration;

use tokio::time::{self, Instant};

/// Time that moves only when told.
///
/// It is tokio's paused clock without its habit of jumping to the next timer whenever the runtime is idle:
/// nothing elapses until [`advance`](DrivenClock::advance) is called.
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
    /// A paused clock does not jump while a blocking task runs; dropping this ends the task.
    _running: mpsc::Sender<()>,
}

impl DrivenClock {
    /// Runs a test on a current-thread runtime of its own, whose clock is driven.
    ///
    /// The runtime is born with a stopped clock: only so are its timers exact. A clock that is stopped later
    /// stands between two of tokio's milliseconds, and timers fire up to one late.
    ///
    /// # Panics
    ///
    /// When the operating system refuses a runtime.
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

    /// Lets everything that is ready run, moves the time in one jump, and lets what became due run.
    ///
    /// Code that sleeps several times in a row sees only the jump: advance in steps for it.
    pub async fn advance(&mut self, by: Duration) {
        settle().await;
        time::advance(by).await;
        settle().await;
    }

    /// How far the clock has been moved.
    pub fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }
}

/// Goes to the end of the runtime's queue often enough for chains of wakes to have run.
async fn settle() {
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}
