use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};

use super::{Config, Runs, Table};

pub(super) const IDIOM: &str =
    "`ask(..).try_send()` for the forks, `tell(..).try_send()` for the rest; unbounded mailboxes";

struct Arbitrator(Table);

impl Actor for Arbitrator {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(arbitrator: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(arbitrator)
    }
}

struct Hungry {
    seat: usize,
}

impl Message<Hungry> for Arbitrator {
    type Reply = bool;

    async fn handle(&mut self, Hungry { seat }: Hungry, _ctx: &mut Context<Self, bool>) -> bool {
        self.0.take_forks(seat)
    }
}

struct Eaten {
    seat: usize,
}

impl Message<Eaten> for Arbitrator {
    type Reply = ();

    async fn handle(&mut self, Eaten { seat }: Eaten, _ctx: &mut Context<Self, ()>) {
        self.0.return_forks(seat);
    }
}

struct Meals;

impl Message<Meals> for Arbitrator {
    type Reply = Vec<usize>;

    async fn handle(&mut self, Meals: Meals, _ctx: &mut Context<Self, Vec<usize>>) -> Vec<usize> {
        self.0.meals.clone()
    }
}

struct Philosopher {
    seat: usize,
    rounds_left: usize,
    arbitrator: ActorRef<Arbitrator>,
}

impl Actor for Philosopher {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(philosopher: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(philosopher)
    }
}

struct Round;

impl Message<Round> for Philosopher {
    type Reply = ();

    async fn handle(&mut self, Round: Round, ctx: &mut Context<Self, ()>) {
        let seat = self.seat;
        while !self.arbitrator.ask(Hungry { seat }).try_send().await.runs() {}
        self.arbitrator.tell(Eaten { seat }).try_send().runs();
        self.rounds_left -= 1;
        if self.rounds_left == 0 {
            ctx.stop();
        } else {
            ctx.actor_ref().tell(Round).try_send().runs();
        }
    }
}

pub(super) async fn run(config: Config) -> Vec<usize> {
    let table = Table::new(config.philosophers);
    let arbitrator = Arbitrator::spawn_with_mailbox(Arbitrator(table), unbounded());
    let mut philosophers = Vec::with_capacity(config.philosophers);
    for seat in 0..config.philosophers {
        let philosopher = Philosopher { seat, rounds_left: config.rounds, arbitrator: arbitrator.clone() };
        philosophers.push(Philosopher::spawn_with_mailbox(philosopher, unbounded()));
    }
    for philosopher in &philosophers {
        philosopher.tell(Round).try_send().runs();
    }
    for philosopher in &philosophers {
        philosopher.wait_for_shutdown().await;
    }
    let meals = arbitrator.ask(Meals).try_send().await.runs();
    arbitrator.stop_gracefully().await.runs();
    meals
}
