//! Measures the time of a program.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle};
use tokio::task::yield_now;

const THREADS: usize = 2;
/// A program that hangs, or whose actors do not end, fails the run after this time.
const PATIENCE: Duration = Duration::from_secs(60);
const PATIENCE_WITH_ACTORS: Duration = Duration::from_secs(10);

/// Runs a program in a fresh runtime, so that runs do not share actors, until its last actor is gone.
pub(crate) fn timed<A: Send + 'static>(
    program: impl Future<Output = A> + Send + 'static,
) -> Result<(Duration, A), String> {
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_time().build();
    let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
    let (result, results) = channel();
    // Spawn the program: `block_on` would poll it on a thread outside the pool, and every message to and from it would
    // cross threads.
    runtime.spawn(async move {
        let start = Instant::now();
        let answer = program.await;
        let gone = all_gone().await;
        let elapsed = start.elapsed();
        // Fails only after the time limit.
        let _ = result.send(gone.map(|()| (elapsed, answer)));
    });
    let result = results.recv_timeout(PATIENCE).unwrap_or_else(|error| {
        Err(match error {
            RecvTimeoutError::Timeout => format!("it is not over after {PATIENCE:?}"),
            RecvTimeoutError::Disconnected => "it panicked".to_owned(),
        })
    });
    match &result {
        Ok(_) => drop(runtime),
        // Dropping the runtime would wait for the task that hangs.
        Err(_) => runtime.shutdown_background(),
    }
    result
}

/// Waits until the actors' tasks are gone from the runtime. Asking each library would measure its own wait function.
async fn all_gone() -> Result<(), String> {
    const PROGRAM: usize = 1;
    let start = Instant::now();
    loop {
        let left = Handle::current().metrics().num_alive_tasks() - PROGRAM;
        if left == 0 {
            return Ok(());
        }
        if start.elapsed() > PATIENCE_WITH_ACTORS {
            return Err(format!("it left {left} tasks running"));
        }
        yield_now().await;
    }
}
