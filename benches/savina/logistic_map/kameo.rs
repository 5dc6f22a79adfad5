use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};

use super::{Config, Runs, Series, next_term};

pub(super) const IDIOM: &str = "`ask(..).try_send()` in the worker's handler and `tell(..).try_send()` to the worker, \
                                which box no future; unbounded mailboxes";

struct Computer {
    rate: f64,
}

impl Actor for Computer {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(computer: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(computer)
    }
}

struct Compute {
    term: f64,
}

impl Message<Compute> for Computer {
    type Reply = f64;

    async fn handle(&mut self, Compute { term }: Compute, _ctx: &mut Context<Self, f64>) -> f64 {
        next_term(self.rate, term)
    }
}

struct Worker {
    computer: ActorRef<Computer>,
    term: f64,
}

impl Actor for Worker {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(worker: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(worker)
    }
}

struct Advance;

impl Message<Advance> for Worker {
    type Reply = ();

    async fn handle(&mut self, Advance: Advance, _ctx: &mut Context<Self, ()>) {
        self.term = self.computer.ask(Compute { term: self.term }).try_send().await.runs();
    }
}

struct LastTerm;

impl Message<LastTerm> for Worker {
    type Reply = f64;

    async fn handle(&mut self, LastTerm: LastTerm, _ctx: &mut Context<Self, f64>) -> f64 {
        self.term
    }
}

pub(super) async fn run(config: Config) -> f64 {
    let mut pairs = Vec::new();
    for Series { rate, first } in config.series() {
        let computer = Computer::spawn_with_mailbox(Computer { rate }, unbounded());
        let worker = Worker { computer: computer.clone(), term: first };
        pairs.push((computer, Worker::spawn_with_mailbox(worker, unbounded())));
    }
    for _ in 0..config.terms {
        for (_, worker) in &pairs {
            worker.tell(Advance).try_send().runs();
        }
    }
    let mut sum = 0.0;
    for (computer, worker) in &pairs {
        sum += worker.ask(LastTerm).try_send().await.runs();
        worker.stop_gracefully().await.runs();
        computer.stop_gracefully().await.runs();
    }
    sum
}
