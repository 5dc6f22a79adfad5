use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};

use super::{Config, Runs, computation};

pub(super) const IDIOM: &str = "`cast`; `call!` for the sum";

struct Worker;

enum ToWorker {
    Work(f64),
    Sum(RpcReplyPort<u64>),
}

impl Actor for Worker {
    type Msg = ToWorker;
    type State = u64;
    type Arguments = ();

    async fn pre_start(&self, _myself: ActorRef<ToWorker>, (): ()) -> Result<u64, ActorProcessingErr> {
        Ok(0)
    }

    async fn handle(
        &self,
        _myself: ActorRef<ToWorker>,
        message: ToWorker,
        sum: &mut u64,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToWorker::Work(angle) => *sum += computation(angle),
            ToWorker::Sum(reply) => reply.send(*sum)?,
        }
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> u64 {
    let mut workers = Vec::new();
    for _ in 0..config.actors {
        let (worker, _) = Actor::spawn(None, Worker, ()).await.runs();
        workers.push(worker);
    }
    for angle in config.angles() {
        for worker in &workers {
            worker.cast(ToWorker::Work(angle)).runs();
        }
    }
    let mut sum = 0;
    for worker in &workers {
        sum += call!(worker, ToWorker::Sum).runs();
        worker.stop(None);
    }
    sum
}
