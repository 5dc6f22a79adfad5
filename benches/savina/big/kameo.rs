use std::sync::Arc;

use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};
use tokio::sync::oneshot;

use super::{Config, Runs, Sink, Targets};

pub(super) const IDIOM: &str = "`tell(..).try_send()`, which boxes no future; `ask(..).try_send()` for what each got; unbounded mailboxes";

impl Actor for Sink {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(sink: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(sink)
    }
}

struct Done;

impl Message<Done> for Sink {
    type Reply = ();

    async fn handle(&mut self, Done: Done, ctx: &mut Context<Self, ()>) {
        if self.count() {
            ctx.stop();
        }
    }
}

struct Pinger {
    place: usize,
    targets: Targets,
    pinged: u64,
    all: Arc<[ActorRef<Pinger>]>,
    sink: ActorRef<Sink>,
}

impl Actor for Pinger {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(pinger: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(pinger)
    }
}

struct Connect(Arc<[ActorRef<Pinger>]>);

impl Message<Connect> for Pinger {
    type Reply = ();

    async fn handle(&mut self, Connect(all): Connect, _ctx: &mut Context<Self, ()>) {
        self.all = all;
    }
}

struct Ping {
    from: usize,
}

impl Message<Ping> for Pinger {
    type Reply = ();

    async fn handle(&mut self, Ping { from }: Ping, _ctx: &mut Context<Self, ()>) {
        self.pinged += 1;
        self.all[from].tell(Pong).try_send().runs();
    }
}

/// Also starts the benchmark: a pinger sends its first ping.
struct Pong;

impl Message<Pong> for Pinger {
    type Reply = ();

    async fn handle(&mut self, Pong: Pong, _ctx: &mut Context<Self, ()>) {
        match self.targets.next() {
            Some(target) => self.all[target].tell(Ping { from: self.place }).try_send().runs(),
            None => self.sink.tell(Done).try_send().runs(),
        }
    }
}

struct Pinged;

impl Message<Pinged> for Pinger {
    type Reply = u64;

    async fn handle(&mut self, Pinged: Pinged, _ctx: &mut Context<Self, u64>) -> u64 {
        self.pinged
    }
}

pub(super) async fn run(config: Config) -> Vec<u64> {
    let (home, done) = oneshot::channel();
    let sink = Sink::spawn_with_mailbox(Sink::new(config, home), unbounded());
    let spawn = |place| {
        let targets = Targets::of(place, config);
        let pinger = Pinger { place, targets, pinged: 0, all: Arc::default(), sink: sink.clone() };
        Pinger::spawn_with_mailbox(pinger, unbounded())
    };
    let all: Arc<[_]> = (0..config.actors).map(spawn).collect();
    for pinger in &*all {
        pinger.tell(Connect(all.clone())).try_send().runs();
    }
    for pinger in &*all {
        pinger.tell(Pong).try_send().runs();
    }
    done.await.runs();
    let mut pinged = Vec::with_capacity(config.actors);
    for pinger in &*all {
        pinged.push(pinger.ask(Pinged).try_send().await.runs());
        pinger.stop_gracefully().await.runs();
    }
    pinged
}
