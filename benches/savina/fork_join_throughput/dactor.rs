use dactor::prelude::*;

use super::{Config, Runs, computation};

#[derive(Default)]
struct Worker {
    sum: u64,
}
impl Actor for Worker {}

#[derive(Message)]
struct Work(f64);

impl Handler<Work> for Worker {
    async fn handle(&mut self, Work(angle): Work, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.sum += computation(angle);
        Ok(())
    }
}

#[derive(Message)]
#[message(reply = u64)]
struct Sum;

impl Handler<Sum> for Worker {
    async fn handle(&mut self, Sum: Sum, _ctx: &mut Context<Self>) -> Outcome<u64> {
        Ok(self.sum)
    }
}

pub(super) async fn run(system: &System, config: Config) -> u64 {
    let mut workers = Vec::new();
    for _ in 0..config.actors {
        workers.push(system.spawn(Worker::default()).await.runs());
    }
    for angle in config.angles() {
        for worker in &workers {
            worker.tell(Work(angle)).runs();
        }
    }
    let mut sum = 0;
    for worker in &workers {
        sum += worker.ask(Sum).await.runs();
        worker.stop();
    }
    sum
}
