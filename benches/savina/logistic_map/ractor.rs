use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};

use super::{Config, Runs, Series, next_term};

pub(super) const IDIOM: &str = "`call!` in the worker's handler, without a timeout; `cast` to the worker";

struct Computer {
    rate: f64,
}

struct Compute {
    term: f64,
    reply: RpcReplyPort<f64>,
}

impl Actor for Computer {
    type Msg = Compute;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _myself: ActorRef<Compute>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _myself: ActorRef<Compute>,
        Compute { term, reply }: Compute,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        reply.send(next_term(self.rate, term))?;
        Ok(())
    }
}

struct Worker {
    computer: ActorRef<Compute>,
}

enum ToWorker {
    Advance,
    LastTerm(RpcReplyPort<f64>),
}

impl Actor for Worker {
    type Msg = ToWorker;
    type State = f64;
    type Arguments = f64;

    async fn pre_start(&self, _myself: ActorRef<ToWorker>, first: f64) -> Result<f64, ActorProcessingErr> {
        Ok(first)
    }

    async fn handle(
        &self,
        _myself: ActorRef<ToWorker>,
        message: ToWorker,
        term: &mut f64,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToWorker::Advance => *term = call!(self.computer, |reply| Compute { term: *term, reply })?,
            ToWorker::LastTerm(reply) => reply.send(*term)?,
        }
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> f64 {
    let mut pairs = Vec::new();
    for Series { rate, first } in config.series() {
        let (computer, _) = Actor::spawn(None, Computer { rate }, ()).await.runs();
        let worker = Worker { computer: computer.clone() };
        let (worker, _) = Actor::spawn(None, worker, first).await.runs();
        pairs.push((computer, worker));
    }
    for _ in 0..config.terms {
        for (_, worker) in &pairs {
            worker.cast(ToWorker::Advance).runs();
        }
    }
    let mut sum = 0.0;
    for (computer, worker) in &pairs {
        sum += call!(worker, ToWorker::LastTerm).runs();
        worker.stop(None);
        computer.stop(None);
    }
    sum
}
