//! Ten thousand timers of one actor against ten thousand sleeping tokio tasks.
//!
//! Each round sets all timers for the next millisecond and waits until the last has fired, so that the time measures
//! work and not waiting. The memory is that of all waiting timers.
//!
//! ```text
//! cargo bench --bench timers
//! cargo bench --bench timers -- --quick     # smoke run, figures mean nothing
//! ```

use std::convert::Infallible;
use std::time::{Duration, Instant};

use bench_harness::{Options, Rounds, Scale};
use dactor::prelude::*;
use tokio::sync::oneshot;

#[global_allocator]
static ALLOCATOR: counting_alloc::Counting = counting_alloc::Counting;

const SOON: Duration = Duration::from_millis(1);
const LATE: Duration = Duration::from_secs(3600);

/// Counts fired timers, and signals `done` after the last.
struct Alarms {
    left: usize,
    done: Option<oneshot::Sender<()>>,
}

impl Actor for Alarms {}

#[derive(Message)]
struct Set {
    count: usize,
    after: Duration,
}

#[derive(Message)]
struct Ring;

impl Handler<Set> for Alarms {
    async fn handle(&mut self, Set { count, after }: Set, ctx: &mut Context<Self>) -> Outcome<()> {
        for _ in 0..count {
            ctx.after(after, Ring)?;
        }
        Ok(())
    }
}

impl Handler<Ring> for Alarms {
    async fn handle(&mut self, _: Ring, _: &mut Context<Self>) -> Outcome<()> {
        self.left -= 1;
        if self.left == 0
            && let Some(done) = self.done.take()
        {
            let _ = done.send(());
        }
        Ok(())
    }
}

/// The cost of one timer implementation.
struct Cost {
    elapsed: Duration,
    waiting_bytes: isize,
}

async fn of_one_actor(count: usize) -> Cost {
    let system = System::builder("timers").backend(dactor_ractor::ractor()).build().expect("a valid name");
    let (done, all) = oneshot::channel();
    let alarms = system.spawn(Alarms { left: count, done: Some(done) }).await.expect("an actor");
    let waiting = system.spawn(Alarms { left: count, done: None }).await.expect("an actor");
    counting_alloc::start_counting();
    waiting.ask(Set { count, after: LATE }).await.expect("they are set");
    let waiting_bytes = counting_alloc::stop_counting().live_bytes;
    waiting.stop();
    waiting.wait().await.unwrap();
    let begin = Instant::now();
    alarms.tell(Set { count, after: SOON }).expect("it lives");
    all.await.expect("all fire");
    Cost { elapsed: begin.elapsed(), waiting_bytes }
}

async fn as_tasks(count: usize) -> Cost {
    counting_alloc::start_counting();
    let waiting: Vec<_> = (0..count).map(|_| tokio::spawn(tokio::time::sleep(LATE))).collect();
    tokio::task::yield_now().await;
    let waiting_bytes = counting_alloc::stop_counting().live_bytes;
    for task in waiting {
        task.abort();
        let _ = task.await;
    }
    let begin = Instant::now();
    let tasks: Vec<_> = (0..count).map(|_| tokio::spawn(tokio::time::sleep(SOON))).collect();
    for task in tasks {
        task.await.expect("it fires");
    }
    Cost { elapsed: begin.elapsed(), waiting_bytes }
}

fn main() {
    let options = Options::from_args(std::env::args().skip(1), &[]).unwrap_or_else(|message| {
        eprintln!("{message}");
        std::process::exit(2);
    });
    let count = if options.scale == Scale::Full { 10_000 } else { 100 };
    let run = |subject: usize| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let cost = if subject == 0 {
            runtime.block_on(of_one_actor(count))
        } else {
            runtime.block_on(as_tasks(count))
        };
        Ok(cost)
    };
    let Ok::<_, Infallible>(rounds) = Rounds::interleaved(2, options.rounds, run);
    let nanos = |cost: &Cost| cost.elapsed.as_nanos() as f64 / count as f64;
    let bytes = |cost: &Cost| cost.waiting_bytes as f64 / count as f64;
    println!("{count} timers, set and fired      ns each   bytes each while they wait");
    for (subject, name) in ["of one actor", "tokio tasks that sleep"].into_iter().enumerate() {
        let (time, memory) = (
            rounds.median(|round| Some(nanos(&round[subject]))),
            rounds.median(|round| Some(bytes(&round[subject]))),
        );
        println!("{name:<32} {time:>8.0} {memory:>8.0}");
    }
    let ratio =
        |figure: &dyn Fn(&Cost) -> f64| rounds.median(|round| Some(figure(&round[0]) / figure(&round[1])));
    println!("{:<32} {:>8.2} {:>8.2}", "ratio", ratio(&nanos), ratio(&bytes));
}
