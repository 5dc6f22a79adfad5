use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{Board, Config, Runs, Tally};

pub(super) const IDIOM: &str = "`cast`; the master spawns its workers in `pre_start`";

struct Master {
    config: Config,
    home: UnboundedSender<usize>,
}

#[derive(Default)]
struct MasterState {
    workers: Vec<ActorRef<Work>>,
    tally: Tally,
}

impl MasterState {
    fn hand_out(&mut self, board: Board) -> Result<(), ActorProcessingErr> {
        self.workers[self.tally.handed_out % self.workers.len()].cast(Work(board))?;
        self.tally.handed_out += 1;
        Ok(())
    }
}

enum ToMaster {
    Work(Board),
    Solution,
    Done,
}

impl Actor for Master {
    type Msg = ToMaster;
    type State = MasterState;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<ToMaster>, (): ()) -> Result<MasterState, ActorProcessingErr> {
        let mut state = MasterState::default();
        for _ in 0..self.config.workers {
            let worker = Worker { config: self.config, master: myself.clone() };
            let (worker, _) = Actor::spawn(None, worker, ()).await?;
            state.workers.push(worker);
        }
        state.hand_out(Board::EMPTY)?;
        Ok(state)
    }

    async fn handle(
        &self,
        myself: ActorRef<ToMaster>,
        message: ToMaster,
        state: &mut MasterState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToMaster::Work(board) => state.hand_out(board)?,
            ToMaster::Solution => state.tally.solutions += 1,
            ToMaster::Done => {
                state.tally.done += 1;
                if state.tally.is_complete() {
                    for worker in &state.workers {
                        worker.stop(None);
                    }
                    self.home.send(state.tally.solutions).runs();
                    myself.stop(None);
                }
            }
        }
        Ok(())
    }
}

struct Worker {
    config: Config,
    master: ActorRef<ToMaster>,
}

struct Work(Board);

impl Actor for Worker {
    type Msg = Work;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _myself: ActorRef<Work>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _myself: ActorRef<Work>,
        Work(board): Work,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        let Self { config, master } = self;
        if config.is_small(&board) {
            for _ in 0..board.solutions(config.size) {
                master.cast(ToMaster::Solution)?;
            }
        } else {
            for board in board.larger(config.size) {
                master.cast(ToMaster::Work(board))?;
            }
        }
        master.cast(ToMaster::Done)?;
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> usize {
    let (home, mut solutions) = unbounded_channel();
    Actor::spawn(None, Master { config, home }, ()).await.runs();
    solutions.recv().await.ok_or("the master is gone").runs()
}
