use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};

use super::{Config, Runs};

pub(super) const IDIOM: &str = "`cast`; the reference that a handler is given goes out with the ping";

struct Pinger;

struct PingerState {
    ponger: ActorRef<ToPonger>,
    left: u64,
}

/// Also starts the benchmark: the pinger sends its first ping.
struct Pong;

impl Actor for Pinger {
    type Msg = Pong;
    type State = PingerState;
    type Arguments = PingerState;

    async fn pre_start(
        &self,
        _myself: ActorRef<Pong>,
        state: PingerState,
    ) -> Result<PingerState, ActorProcessingErr> {
        Ok(state)
    }

    async fn handle(
        &self,
        myself: ActorRef<Pong>,
        Pong: Pong,
        state: &mut PingerState,
    ) -> Result<(), ActorProcessingErr> {
        if state.left == 0 {
            myself.stop(None);
        } else {
            state.left -= 1;
            state.ponger.cast(ToPonger::Ping(myself))?;
        }
        Ok(())
    }
}

struct Ponger;

enum ToPonger {
    Ping(ActorRef<Pong>),
    Count(RpcReplyPort<u64>),
}

impl Actor for Ponger {
    type Msg = ToPonger;
    type State = u64;
    type Arguments = ();

    async fn pre_start(&self, _myself: ActorRef<ToPonger>, (): ()) -> Result<u64, ActorProcessingErr> {
        Ok(0)
    }

    async fn handle(
        &self,
        _myself: ActorRef<ToPonger>,
        message: ToPonger,
        pings: &mut u64,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToPonger::Ping(pinger) => {
                *pings += 1;
                pinger.cast(Pong)?;
            }
            ToPonger::Count(reply) => reply.send(*pings)?,
        }
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> u64 {
    let (ponger, _) = Actor::spawn(None, Ponger, ()).await.runs();
    let state = PingerState { ponger: ponger.clone(), left: config.pings };
    let (pinger, pinger_task) = Actor::spawn(None, Pinger, state).await.runs();
    pinger.cast(Pong).runs();
    pinger_task.await.runs();
    let pings = call!(ponger, ToPonger::Count).runs();
    ponger.stop(None);
    pings
}
