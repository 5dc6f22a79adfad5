use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};

use super::{Config, Runs, Table};

pub(super) const IDIOM: &str = "`call!` without a timeout for the forks, `cast` for the rest";

struct Arbitrator;

enum ToArbitrator {
    Hungry(usize, RpcReplyPort<bool>),
    Eaten(usize),
    Meals(RpcReplyPort<Vec<usize>>),
}

impl Actor for Arbitrator {
    type Msg = ToArbitrator;
    type State = Table;
    type Arguments = Table;

    async fn pre_start(
        &self,
        _myself: ActorRef<ToArbitrator>,
        table: Table,
    ) -> Result<Table, ActorProcessingErr> {
        Ok(table)
    }

    async fn handle(
        &self,
        _myself: ActorRef<ToArbitrator>,
        message: ToArbitrator,
        table: &mut Table,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToArbitrator::Hungry(seat, reply) => reply.send(table.take_forks(seat))?,
            ToArbitrator::Eaten(seat) => table.return_forks(seat),
            ToArbitrator::Meals(reply) => reply.send(table.meals.clone())?,
        }
        Ok(())
    }
}

struct Philosopher {
    seat: usize,
    arbitrator: ActorRef<ToArbitrator>,
}

struct Round;

impl Actor for Philosopher {
    type Msg = Round;
    type State = usize;
    type Arguments = usize;

    async fn pre_start(
        &self,
        _myself: ActorRef<Round>,
        rounds_left: usize,
    ) -> Result<usize, ActorProcessingErr> {
        Ok(rounds_left)
    }

    async fn handle(
        &self,
        myself: ActorRef<Round>,
        Round: Round,
        rounds_left: &mut usize,
    ) -> Result<(), ActorProcessingErr> {
        while !call!(self.arbitrator, ToArbitrator::Hungry, self.seat)? {}
        self.arbitrator.cast(ToArbitrator::Eaten(self.seat))?;
        *rounds_left -= 1;
        if *rounds_left == 0 {
            myself.stop(None);
        } else {
            myself.cast(Round)?;
        }
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> Vec<usize> {
    let table = Table::new(config.philosophers);
    let (arbitrator, _) = Actor::spawn(None, Arbitrator, table).await.runs();
    let mut philosophers = Vec::with_capacity(config.philosophers);
    for seat in 0..config.philosophers {
        let philosopher = Philosopher { seat, arbitrator: arbitrator.clone() };
        philosophers.push(Actor::spawn(None, philosopher, config.rounds).await.runs());
    }
    for (philosopher, _) in &philosophers {
        philosopher.cast(Round).runs();
    }
    for (_, task) in philosophers {
        task.await.runs();
    }
    let meals = call!(arbitrator, ToArbitrator::Meals).runs();
    arbitrator.stop(None);
    meals
}
