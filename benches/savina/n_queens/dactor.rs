use dactor::prelude::*;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{Board, Config, Runs, Tally};

struct Master {
    config: Config,
    workers: Vec<ActorRef<Worker>>,
    tally: Tally,
    home: UnboundedSender<usize>,
}

impl Actor for Master {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        for _ in 0..self.config.workers {
            let worker = Worker { config: self.config, master: ctx.actor_ref().clone() };
            self.workers.push(ctx.system().spawn(worker).await?);
        }
        self.hand_out(Board::EMPTY)
    }
}

impl Master {
    fn hand_out(&mut self, board: Board) -> Outcome<()> {
        self.workers[self.tally.handed_out % self.workers.len()].tell(Work(board))?;
        self.tally.handed_out += 1;
        Ok(())
    }
}

/// To the master: a board that a worker has found. To a worker: a board to work on.
#[derive(Message)]
struct Work(Board);

impl Handler<Work> for Master {
    async fn handle(&mut self, Work(board): Work, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.hand_out(board)
    }
}

#[derive(Message)]
struct Solution;

impl Handler<Solution> for Master {
    async fn handle(&mut self, Solution: Solution, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.tally.solutions += 1;
        Ok(())
    }
}

#[derive(Message)]
struct Done;

impl Handler<Done> for Master {
    async fn handle(&mut self, Done: Done, ctx: &mut Context<Self>) -> Outcome<()> {
        self.tally.done += 1;
        if self.tally.is_complete() {
            for worker in &self.workers {
                worker.stop();
            }
            self.home.send(self.tally.solutions).runs();
            ctx.stop();
        }
        Ok(())
    }
}

struct Worker {
    config: Config,
    master: ActorRef<Master>,
}
impl Actor for Worker {}

impl Handler<Work> for Worker {
    async fn handle(&mut self, Work(board): Work, _ctx: &mut Context<Self>) -> Outcome<()> {
        let Self { config, master } = self;
        if config.is_small(&board) {
            for _ in 0..board.solutions(config.size) {
                master.tell(Solution)?;
            }
        } else {
            for board in board.larger(config.size) {
                master.tell(Work(board))?;
            }
        }
        master.tell(Done)?;
        Ok(())
    }
}

pub(super) async fn run(system: &System, config: Config) -> usize {
    let (home, mut solutions) = unbounded_channel();
    let master = Master { config, workers: Vec::new(), tally: Tally::default(), home };
    system.spawn(master).await.runs();
    solutions.recv().await.ok_or("the master is gone").runs()
}
