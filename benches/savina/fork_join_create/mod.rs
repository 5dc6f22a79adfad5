//! Fork Join (Actor Creation): the cost of spawn + stop. Each actor gets one message, does a small computation and
//! stops.
//!
//! The answer is the sum of the computations.

mod dactor;
mod kameo;
mod ractor;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::dactor::System;
use bench_harness::Scale;
use tokio::sync::oneshot;

use super::{Benchmark, Idioms, Runs};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Config {
    actors: u32,
}

/// The square of the sine, as in Savina. In integer billionths, so that the sum does not depend on the order.
pub(crate) fn computation(angle: f64) -> u64 {
    let sine = angle.sin();
    (1e9 * sine * sine) as u64
}

/// The work of one actor, and the shared sum.
struct Task {
    angle: f64,
    join: Arc<Join>,
}

impl Task {
    fn perform(self) {
        self.join.sum.fetch_add(computation(self.angle), Ordering::Relaxed);
    }
}

/// The shared sum of all tasks. Dropping the last reference sends it to the program.
struct Join {
    sum: AtomicU64,
    home: Option<oneshot::Sender<u64>>,
}

impl Drop for Join {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            // Fails only if the program was abandoned.
            let _ = home.send(*self.sum.get_mut());
        }
    }
}

/// A task for every actor, and the receiver of the sum. The sum arrives when all tasks are done and the iterator is
/// dropped.
fn tasks(config: Config) -> (impl Iterator<Item = Task> + Send, oneshot::Receiver<u64>) {
    let (home, sum) = oneshot::channel();
    let join = Arc::new(Join { sum: AtomicU64::new(0), home: Some(home) });
    let tasks = (0..config.actors).map(move |number| Task { angle: number.into(), join: join.clone() });
    (tasks, sum)
}

pub(crate) struct ForkJoinCreate;

impl Benchmark for ForkJoinCreate {
    const NAME: &'static str = "fork_join_create";
    const ABOUT: &'static str = "Actors are spawned, handle one message and end.";
    const IDIOMS: Idioms = Idioms { ractor: ractor::IDIOM, kameo: kameo::IDIOM };

    type Config = Config;
    type Answer = u64;

    fn config(scale: Scale) -> Config {
        match scale {
            Scale::Full => Config { actors: 20_000 },
            Scale::Quick => Config { actors: 200 },
        }
    }

    fn expected(config: Config) -> u64 {
        (0..config.actors).map(|number| computation(number.into())).sum()
    }

    async fn dactor(system: &System, config: Config) -> u64 {
        dactor::run(system, config).await
    }

    async fn ractor(config: Config) -> u64 {
        ractor::run(config).await
    }

    async fn kameo(config: Config) -> u64 {
        kameo::run(config).await
    }
}
