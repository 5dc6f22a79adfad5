use dactor::prelude::*;

use super::{Config, Runs, Series, next_term};

struct Computer {
    rate: f64,
}
impl Actor for Computer {}

#[derive(Message)]
#[message(reply = f64)]
struct Compute {
    term: f64,
}

impl Handler<Compute> for Computer {
    async fn handle(&mut self, Compute { term }: Compute, _ctx: &mut Context<Self>) -> Outcome<f64> {
        Ok(next_term(self.rate, term))
    }
}

struct Worker {
    computer: ActorRef<Computer>,
    term: f64,
}
impl Actor for Worker {}

#[derive(Message)]
struct Advance;

impl Handler<Advance> for Worker {
    async fn handle(&mut self, Advance: Advance, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.term = self.computer.ask(Compute { term: self.term }).await?;
        Ok(())
    }
}

#[derive(Message)]
#[message(reply = f64)]
struct LastTerm;

impl Handler<LastTerm> for Worker {
    async fn handle(&mut self, LastTerm: LastTerm, _ctx: &mut Context<Self>) -> Outcome<f64> {
        Ok(self.term)
    }
}

pub(super) async fn run(system: &System, config: Config) -> f64 {
    let mut pairs = Vec::new();
    for Series { rate, first } in config.series() {
        let computer = system.spawn(Computer { rate }).await.runs();
        let worker = system.spawn(Worker { computer: computer.clone(), term: first }).await.runs();
        pairs.push((computer, worker));
    }
    for _ in 0..config.terms {
        for (_, worker) in &pairs {
            worker.tell(Advance).runs();
        }
    }
    let mut sum = 0.0;
    for (computer, worker) in &pairs {
        sum += worker.ask(LastTerm).await.runs();
        worker.stop();
        computer.stop();
    }
    sum
}
