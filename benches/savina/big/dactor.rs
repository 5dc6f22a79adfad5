use std::sync::Arc;

use dactor::prelude::*;
use tokio::sync::oneshot;

use super::{Config, Runs, Sink, Targets};

impl Actor for Sink {}

#[derive(Message)]
struct Done;

impl Handler<Done> for Sink {
    async fn handle(&mut self, Done: Done, ctx: &mut Context<Self>) -> Outcome<()> {
        if self.count() {
            ctx.stop();
        }
        Ok(())
    }
}

struct Pinger {
    place: usize,
    targets: Targets,
    pinged: u64,
    all: Arc<[ActorRef<Pinger>]>,
    sink: ActorRef<Sink>,
}
impl Actor for Pinger {}

#[derive(Message)]
struct Connect(Arc<[ActorRef<Pinger>]>);

impl Handler<Connect> for Pinger {
    async fn handle(&mut self, Connect(all): Connect, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.all = all;
        Ok(())
    }
}

#[derive(Message)]
struct Ping {
    from: usize,
}

impl Handler<Ping> for Pinger {
    async fn handle(&mut self, Ping { from }: Ping, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.pinged += 1;
        self.all[from].tell(Pong)?;
        Ok(())
    }
}

/// Also starts the benchmark: a pinger sends its first ping.
#[derive(Message)]
struct Pong;

impl Handler<Pong> for Pinger {
    async fn handle(&mut self, Pong: Pong, _ctx: &mut Context<Self>) -> Outcome<()> {
        match self.targets.next() {
            Some(target) => self.all[target].tell(Ping { from: self.place })?,
            None => self.sink.tell(Done)?,
        }
        Ok(())
    }
}

#[derive(Message)]
#[message(reply = u64)]
struct Pinged;

impl Handler<Pinged> for Pinger {
    async fn handle(&mut self, Pinged: Pinged, _ctx: &mut Context<Self>) -> Outcome<u64> {
        Ok(self.pinged)
    }
}

pub(super) async fn run(system: &System, config: Config) -> Vec<u64> {
    let (home, done) = oneshot::channel();
    let sink = system.spawn(Sink::new(config, home)).await.runs();
    let mut all = Vec::with_capacity(config.actors);
    for place in 0..config.actors {
        let targets = Targets::of(place, config);
        let pinger = Pinger { place, targets, pinged: 0, all: Arc::default(), sink: sink.clone() };
        all.push(system.spawn(pinger).await.runs());
    }
    let all: Arc<[_]> = all.into();
    for pinger in &*all {
        pinger.tell(Connect(all.clone())).runs();
    }
    for pinger in &*all {
        pinger.tell(Pong).runs();
    }
    done.await.runs();
    let mut pinged = Vec::with_capacity(config.actors);
    for pinger in &*all {
        pinged.push(pinger.ask(Pinged).await.runs());
        pinger.stop();
    }
    pinged
}
