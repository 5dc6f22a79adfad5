use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{Board, Config, Runs, Tally};

pub(super) const IDIOM: &str =
    "`tell(..).try_send()`; the master spawns its workers in `on_start`; unbounded mailboxes";

struct Master {
    workers: Vec<ActorRef<Worker>>,
    tally: Tally,
    home: UnboundedSender<usize>,
}

impl Actor for Master {
    type Args = (Config, UnboundedSender<usize>);
    type Error = Infallible;

    async fn on_start((config, home): Self::Args, actor: ActorRef<Self>) -> Result<Self, Infallible> {
        let worker = |_| Worker::spawn_with_mailbox(Worker { config, master: actor.clone() }, unbounded());
        let workers = (0..config.workers).map(worker).collect();
        let mut master = Self { workers, tally: Tally::default(), home };
        master.hand_out(Board::EMPTY);
        Ok(master)
    }
}

impl Master {
    fn hand_out(&mut self, board: Board) {
        self.workers[self.tally.handed_out % self.workers.len()].tell(Work(board)).try_send().runs();
        self.tally.handed_out += 1;
    }
}

/// To the master: a board that a worker has found. To a worker: a board to work on.
struct Work(Board);

impl Message<Work> for Master {
    type Reply = ();

    async fn handle(&mut self, Work(board): Work, _ctx: &mut Context<Self, ()>) {
        self.hand_out(board);
    }
}

struct Solution;

impl Message<Solution> for Master {
    type Reply = ();

    async fn handle(&mut self, Solution: Solution, _ctx: &mut Context<Self, ()>) {
        self.tally.solutions += 1;
    }
}

struct Done;

impl Message<Done> for Master {
    type Reply = ();

    async fn handle(&mut self, Done: Done, ctx: &mut Context<Self, ()>) {
        self.tally.done += 1;
        if self.tally.is_complete() {
            for worker in &self.workers {
                worker.stop_gracefully().await.runs();
            }
            self.home.send(self.tally.solutions).runs();
            ctx.stop();
        }
    }
}

struct Worker {
    config: Config,
    master: ActorRef<Master>,
}

impl Actor for Worker {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(worker: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(worker)
    }
}

impl Message<Work> for Worker {
    type Reply = ();

    async fn handle(&mut self, Work(board): Work, _ctx: &mut Context<Self, ()>) {
        let Self { config, master } = self;
        if config.is_small(&board) {
            for _ in 0..board.solutions(config.size) {
                master.tell(Solution).try_send().runs();
            }
        } else {
            for board in board.larger(config.size) {
                master.tell(Work(board)).try_send().runs();
            }
        }
        master.tell(Done).try_send().runs();
    }
}

pub(super) async fn run(config: Config) -> usize {
    let (home, mut solutions) = unbounded_channel();
    // kameo stops an actor when its last reference is dropped.
    let _master = Master::spawn_with_mailbox((config, home), unbounded());
    solutions.recv().await.ok_or("the master is gone").runs()
}
