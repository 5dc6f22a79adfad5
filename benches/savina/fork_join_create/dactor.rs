use dactor::prelude::*;

use super::{Config, Runs, Task, tasks};

struct Worker;
impl Actor for Worker {}

#[derive(Message)]
struct Work(Task);

impl Handler<Work> for Worker {
    async fn handle(&mut self, Work(task): Work, ctx: &mut Context<Self>) -> Outcome<()> {
        task.perform();
        ctx.stop();
        Ok(())
    }
}

pub(super) async fn run(system: &System, config: Config) -> u64 {
    let (tasks, sum) = tasks(config);
    for task in tasks {
        let worker = system.spawn(Worker).await.runs();
        worker.tell(Work(task)).runs();
    }
    sum.await.runs()
}
