use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};

use super::{Config, Runs, computation};

pub(super) const IDIOM: &str =
    "`tell(..).try_send()`, which boxes no future; `ask(..).try_send()` for the sum; unbounded mailboxes";

struct Worker {
    sum: u64,
}

impl Actor for Worker {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(worker: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(worker)
    }
}

struct Work(f64);

impl Message<Work> for Worker {
    type Reply = ();

    async fn handle(&mut self, Work(angle): Work, _ctx: &mut Context<Self, ()>) {
        self.sum += computation(angle);
    }
}

struct Sum;

impl Message<Sum> for Worker {
    type Reply = u64;

    async fn handle(&mut self, Sum: Sum, _ctx: &mut Context<Self, u64>) -> u64 {
        self.sum
    }
}

pub(super) async fn run(config: Config) -> u64 {
    let spawn = |_| Worker::spawn_with_mailbox(Worker { sum: 0 }, unbounded());
    let workers: Vec<_> = (0..config.actors).map(spawn).collect();
    for angle in config.angles() {
        for worker in &workers {
            worker.tell(Work(angle)).try_send().runs();
        }
    }
    let mut sum = 0;
    for worker in &workers {
        sum += worker.ask(Sum).try_send().await.runs();
        worker.stop_gracefully().await.runs();
    }
    sum
}
