//! The cost of stopping a watched actor: the time per stop must not grow with the number of watched actors.
//!
//! ```sh
//! cargo bench --bench watch
//! ```

use std::convert::Infallible;
use std::process::ExitCode;
use std::time::Instant;

use bench_harness::{Options, Rounds, Scale};
use dactor::{Actor, ActorRef, Context, Handler, Message, Outcome, System, Terminated};
use tokio::sync::oneshot;

struct Target;
impl Actor for Target {}

/// Signals `done` after the expected number of `Terminated` messages.
struct Watcher {
    missing: usize,
    done: Option<oneshot::Sender<()>>,
}
impl Actor for Watcher {}

#[derive(Message)]
struct Watch(Vec<ActorRef<Target>>);

impl Handler<Watch> for Watcher {
    async fn handle(&mut self, Watch(targets): Watch, ctx: &mut Context<Self>) -> Outcome<()> {
        for target in &targets {
            ctx.watch(target)?;
        }
        Ok(())
    }
}

impl Handler<Terminated> for Watcher {
    async fn handle(&mut self, _: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        self.missing -= 1;
        if self.missing == 0
            && let Some(done) = self.done.take()
        {
            let _ = done.send(());
        }
        Ok(())
    }
}

/// Nanoseconds per stop, until the last `Terminated` has arrived.
async fn stops(system: &System, count: usize, watched: bool) -> f64 {
    let mut targets = Vec::with_capacity(count);
    for _ in 0..count {
        targets.push(system.spawn(Target).await.expect("a target"));
    }
    let (done, told) = oneshot::channel();
    let watcher = system.spawn(Watcher { missing: count, done: Some(done) }).await.expect("a watcher");
    if watched {
        watcher.ask(Watch(targets.clone())).await.expect("all are watched");
    }
    let begin = Instant::now();
    for target in &targets {
        target.stop();
    }
    if watched {
        told.await.expect("all ends are told");
    } else {
        for target in &targets {
            target.wait().await.unwrap();
        }
    }
    let time = begin.elapsed().as_nanos() as f64 / count as f64;
    watcher.stop();
    watcher.wait().await.unwrap();
    time
}

fn main() -> ExitCode {
    let options = match Options::from_args(std::env::args().skip(1), &["ractor", "kameo"]) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let (few, many) = if options.scale == Scale::Full { (10_000, 100_000) } else { (100, 1_000) };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    for backend in ["ractor", "kameo"].into_iter().filter(|backend| options.selects(backend)) {
        let builder = System::builder("watch");
        let system = match backend {
            "ractor" => builder.backend(dactor_ractor::ractor()).build(),
            _ => builder.backend(dactor_kameo::kameo()).build(),
        };
        let system = system.expect("a system");
        let cases = [(few, false), (many, false), (few, true), (many, true)];
        let run = |case: usize| {
            let (count, watched) = cases[case];
            Ok::<_, Infallible>(runtime.block_on(stops(&system, count, watched)))
        };
        let Ok(rounds) = Rounds::interleaved(cases.len(), options.rounds, run);
        for (what, at) in [("unwatched", 0), ("watched", 2)] {
            let nanoseconds = |case: usize| rounds.median(|round| Some(round[case]));
            let ratio = rounds.median(|round| Some(round[at + 1] / round[at]));
            let (of_few, of_many) = (nanoseconds(at), nanoseconds(at + 1));
            println!(
                "{backend}: a stop, {what}: {of_few:.0} ns of {few}, {of_many:.0} ns of {many}, ratio {ratio:.2}"
            );
        }
    }
    ExitCode::SUCCESS
}
