use dactor::prelude::*;

use super::{Config, Runs, Table};

struct Arbitrator(Table);
impl Actor for Arbitrator {}

#[derive(Message)]
#[message(reply = bool)]
struct Hungry {
    seat: usize,
}

impl Handler<Hungry> for Arbitrator {
    async fn handle(&mut self, Hungry { seat }: Hungry, _ctx: &mut Context<Self>) -> Outcome<bool> {
        Ok(self.0.take_forks(seat))
    }
}

#[derive(Message)]
struct Eaten {
    seat: usize,
}

impl Handler<Eaten> for Arbitrator {
    async fn handle(&mut self, Eaten { seat }: Eaten, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.0.return_forks(seat);
        Ok(())
    }
}

#[derive(Message)]
#[message(reply = Vec<usize>)]
struct Meals;

impl Handler<Meals> for Arbitrator {
    async fn handle(&mut self, Meals: Meals, _ctx: &mut Context<Self>) -> Outcome<Vec<usize>> {
        Ok(self.0.meals.clone())
    }
}

struct Philosopher {
    seat: usize,
    rounds_left: usize,
    arbitrator: ActorRef<Arbitrator>,
}
impl Actor for Philosopher {}

#[derive(Message)]
struct Round;

impl Handler<Round> for Philosopher {
    async fn handle(&mut self, Round: Round, ctx: &mut Context<Self>) -> Outcome<()> {
        let seat = self.seat;
        while !self.arbitrator.ask(Hungry { seat }).await? {}
        self.arbitrator.tell(Eaten { seat })?;
        self.rounds_left -= 1;
        if self.rounds_left == 0 {
            ctx.stop();
        } else {
            ctx.actor_ref().tell(Round)?;
        }
        Ok(())
    }
}

pub(super) async fn run(system: &System, config: Config) -> Vec<usize> {
    let arbitrator = system.spawn(Arbitrator(Table::new(config.philosophers))).await.runs();
    let mut philosophers = Vec::with_capacity(config.philosophers);
    for seat in 0..config.philosophers {
        let philosopher = Philosopher { seat, rounds_left: config.rounds, arbitrator: arbitrator.clone() };
        philosophers.push(system.spawn(philosopher).await.runs());
    }
    for philosopher in &philosophers {
        philosopher.tell(Round).runs();
    }
    for philosopher in &philosophers {
        philosopher.wait().await.unwrap();
    }
    let meals = arbitrator.ask(Meals).await.runs();
    arbitrator.stop();
    meals
}
