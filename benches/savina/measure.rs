//! The clock around a program.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle};
use tokio::task::yield_now;

const THREADS: usize = 2;
/// A program that hangs, or whose actors stay, must fail the run.
const PATIENCE: Duration = Duration::from_secs(60);
const PATIENCE_WITH_ACTORS: Duration = Duration::from_secs(10);

/// Runs a program in a fresh runtime, so that no run inherits another's actors, until its last actor is gone.
/// The error says what went wrong.
pub(crate) fn timed<A: Send + 'static>(
    program: impl Future<Output = A> + Send + 'static,
) -> Result<(Duration, A), String> {
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_time().build();
    let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
    let (result, results) = channel();
    // The program is spawned: `block_on` would poll it on a thread outside the pool, and every exchange with it
    // would cross threads.
    runtime.spawn(async move {
        let start = Instant::now();
        let answer = program.await;
        let gone = all_gone().await;
        let elapsed = start.elapsed();
        // Nobody listens any more when patience is at its end.
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
        // Dropping it would wait for whatever hangs.
        Err(_) => runtime.shutdown_background(),
    }
    result
}

/// A stop is over when the actor's task is gone: asking each library would measure its way of answering.
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
