use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};
use tokio::sync::oneshot;

use super::{Config, Runs, Sink, Targets};

pub(super) const IDIOM: &str = "`cast`; `call!` for what each got";

struct SinkActor;

struct Done;

impl Actor for SinkActor {
    type Msg = Done;
    type State = Sink;
    type Arguments = Sink;

    async fn pre_start(&self, _myself: ActorRef<Done>, sink: Sink) -> Result<Sink, ActorProcessingErr> {
        Ok(sink)
    }

    async fn handle(
        &self,
        myself: ActorRef<Done>,
        Done: Done,
        sink: &mut Sink,
    ) -> Result<(), ActorProcessingErr> {
        if sink.count() {
            myself.stop(None);
        }
        Ok(())
    }
}

struct Pinger {
    place: usize,
    sink: ActorRef<Done>,
}

struct PingerState {
    targets: Targets,
    pinged: u64,
    all: Arc<[ActorRef<ToPinger>]>,
}

enum ToPinger {
    Connect(Arc<[ActorRef<ToPinger>]>),
    Ping {
        from: usize,
    },
    /// Also starts the benchmark: a pinger sends its first ping.
    Pong,
    Pinged(RpcReplyPort<u64>),
}

impl Actor for Pinger {
    type Msg = ToPinger;
    type State = PingerState;
    type Arguments = Targets;

    async fn pre_start(
        &self,
        _myself: ActorRef<ToPinger>,
        targets: Targets,
    ) -> Result<PingerState, ActorProcessingErr> {
        Ok(PingerState { targets, pinged: 0, all: Arc::default() })
    }

    async fn handle(
        &self,
        _myself: ActorRef<ToPinger>,
        message: ToPinger,
        state: &mut PingerState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToPinger::Connect(all) => state.all = all,
            ToPinger::Ping { from } => {
                state.pinged += 1;
                state.all[from].cast(ToPinger::Pong)?;
            }
            ToPinger::Pong => match state.targets.next() {
                Some(target) => state.all[target].cast(ToPinger::Ping { from: self.place })?,
                None => self.sink.cast(Done)?,
            },
            ToPinger::Pinged(reply) => reply.send(state.pinged)?,
        }
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> Vec<u64> {
    let (home, done) = oneshot::channel();
    let (sink, _) = Actor::spawn(None, SinkActor, Sink::new(config, home)).await.runs();
    let mut all = Vec::with_capacity(config.actors);
    for place in 0..config.actors {
        let pinger = Pinger { place, sink: sink.clone() };
        let (pinger, _) = Actor::spawn(None, pinger, Targets::of(place, config)).await.runs();
        all.push(pinger);
    }
    let all: Arc<[_]> = all.into();
    for pinger in &*all {
        pinger.cast(ToPinger::Connect(all.clone())).runs();
    }
    for pinger in &*all {
        pinger.cast(ToPinger::Pong).runs();
    }
    done.await.runs();
    let mut pinged = Vec::with_capacity(config.actors);
    for pinger in &*all {
        pinged.push(call!(pinger, ToPinger::Pinged).runs());
        pinger.stop(None);
    }
    pinged
}
