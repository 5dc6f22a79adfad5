//! A supervised worker pool: a worker that panics is restarted in place, and a worker that stops is replaced.
//! Run it with `cargo run --example pool`.

use std::collections::HashMap;
use std::time::Duration;

use dactor::path::ActorUid;
use dactor::prelude::*;

const SEATS: usize = 3;

struct Worker {
    seat: usize,
    done: u32,
}

impl Actor for Worker {
    async fn on_restart(&mut self, failure: &dactor::Error, _ctx: &mut Context<Self>) -> Outcome<()> {
        println!("worker-{} restarts: {:?}", self.seat, failure.kind());
        Ok(())
    }

    async fn on_stop(&mut self, reason: &dactor::StopReason, _ctx: &mut Context<Self>) -> Outcome<()> {
        println!("worker-{} stops, jobs done: {}, {reason}", self.seat, self.done);
        Ok(())
    }
}

#[derive(Message)]
#[message(reply = String)]
struct Job(u32);

impl Handler<Job> for Worker {
    async fn handle(&mut self, Job(number): Job, _ctx: &mut Context<Self>) -> Outcome<String> {
        assert_ne!(number, 4, "job 4 is cursed");
        self.done += 1;
        Ok(format!("job {number} by worker-{}, its number {}", self.seat, self.done))
    }
}

#[derive(Default)]
struct Pool {
    workers: HashMap<ActorUid, (usize, ActorRef<Worker>)>,
    next: usize,
}

impl Pool {
    async fn hire(&mut self, seat: usize, ctx: &mut Context<Self>) -> Outcome<()> {
        let worker = ctx.spawn(move || Worker { seat, done: 0 }).name(format!("worker-{seat}")).await?;
        ctx.watch(&worker)?;
        self.workers.insert(worker.uid(), (seat, worker));
        Ok(())
    }

    fn at(&self, seat: usize) -> Option<&ActorRef<Worker>> {
        self.workers.values().find(|(taken, _)| *taken == seat).map(|(_, worker)| worker)
    }
}

impl Actor for Pool {
    /// Restarts a worker at most three times a minute. After that the pool itself is restarted, with new workers.
    fn supervision() -> Supervision {
        Supervision::one_for_one().budget(3, Duration::from_secs(60))
    }

    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        for seat in 0..SEATS {
            self.hire(seat, ctx).await?;
        }
        Ok(())
    }
}

impl Handler<Job> for Pool {
    async fn handle(&mut self, job: Job, ctx: &mut Context<Self>) -> Outcome<String> {
        let seat = self.next % SEATS;
        self.next += 1;
        match self.at(seat).cloned() {
            // The worker replies to the caller of the pool.
            Some(worker) => ctx.forward(&worker, job),
            None => Ok("no worker".to_owned()),
        }
    }
}

/// Death watch: arrives when a worker has ended. A restart does not count.
impl Handler<Terminated> for Pool {
    async fn handle(&mut self, worker: Terminated, ctx: &mut Context<Self>) -> Outcome<()> {
        let Some((seat, _)) = self.workers.remove(&worker.uid()) else { return Ok(()) };
        println!("{} is {}: spawning a replacement", worker.label(), worker.reason());
        self.hire(seat, ctx).await
    }
}

/// Asks for the worker in this seat.
#[derive(Message)]
#[message(reply = Option<ActorRef<Worker>>)]
struct Seat(usize);

impl Handler<Seat> for Pool {
    async fn handle(&mut self, Seat(seat): Seat, _: &mut Context<Self>) -> Outcome<Option<ActorRef<Worker>>> {
        Ok(self.at(seat).cloned())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> dactor::Result<()> {
    // This example panics on purpose: silence the default panic output.
    std::panic::set_hook(Box::new(|_| {}));
    let system = System::new("factory");
    let pool = system.spawn(Pool::default).name("pool").await?;

    for number in 0..=5 {
        match pool.ask(Job(number)).await {
            Ok(done) => println!("{done}"),
            Err(error) if error.kind() == ErrorKind::Panicked => {
                println!("job {number} panicked; the pool continues")
            }
            Err(error) => return Err(error),
        }
    }

    let retiring = pool.ask(Seat(2)).await?.expect("all seats are taken");
    retiring.stop();
    retiring.wait().await?;
    let hired = loop {
        match pool.ask(Seat(2)).await? {
            Some(worker) if worker != retiring => break worker,
            _ => tokio::task::yield_now().await,
        }
    };
    println!("{}", hired.ask(Job(6)).await?);

    println!("{} actors live", system.actor_count());
    pool.stop();
    pool.wait().await?;
    println!("{} actors live", system.actor_count());
    system.shutdown().await
}
