use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::{Config, Runs, Task, tasks};

pub(super) const IDIOM: &str = "`spawn`, which needs one task (`spawn_instant` needs two); `cast`";

struct Worker;

struct Work(Task);

impl Actor for Worker {
    type Msg = Work;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _myself: ActorRef<Work>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        myself: ActorRef<Work>,
        Work(task): Work,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        task.perform();
        myself.stop(None);
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> u64 {
    let (tasks, sum) = tasks(config);
    for task in tasks {
        let (worker, _) = Actor::spawn(None, Worker, ()).await.runs();
        worker.cast(Work(task)).runs();
    }
    sum.await.runs()
}
