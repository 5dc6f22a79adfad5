use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};

use super::{Config, Runs, Task, tasks};

pub(super) const IDIOM: &str = "`tell(..).try_send()`, which boxes no future; unbounded mailboxes";

struct Worker;

impl Actor for Worker {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(worker: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(worker)
    }
}

struct Work(Task);

impl Message<Work> for Worker {
    type Reply = ();

    async fn handle(&mut self, Work(task): Work, ctx: &mut Context<Self, ()>) {
        task.perform();
        ctx.stop();
    }
}

pub(super) async fn run(config: Config) -> u64 {
    let (tasks, sum) = tasks(config);
    for task in tasks {
        let worker = Worker::spawn_with_mailbox(Worker, unbounded());
        worker.tell(Work(task)).try_send().runs();
    }
    sum.await.runs()
}
