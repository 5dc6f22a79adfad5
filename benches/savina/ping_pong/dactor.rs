use dactor::prelude::*;

use super::{Config, Runs};

struct Pinger {
    ponger: ActorRef<Ponger>,
    left: u64,
}
impl Actor for Pinger {}

/// Also starts the benchmark: the pinger sends its first ping.
#[derive(Message)]
struct Pong;

impl Handler<Pong> for Pinger {
    async fn handle(&mut self, Pong: Pong, ctx: &mut Context<Self>) -> Outcome<()> {
        if self.left == 0 {
            ctx.stop();
        } else {
            self.left -= 1;
            self.ponger.tell(Ping(ctx.actor_ref().clone()))?;
        }
        Ok(())
    }
}

#[derive(Default)]
struct Ponger {
    pings: u64,
}
impl Actor for Ponger {}

#[derive(Message)]
struct Ping(ActorRef<Pinger>);

impl Handler<Ping> for Ponger {
    async fn handle(&mut self, Ping(pinger): Ping, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.pings += 1;
        pinger.tell(Pong)?;
        Ok(())
    }
}

#[derive(Message)]
#[message(reply = u64)]
struct Count;

impl Handler<Count> for Ponger {
    async fn handle(&mut self, Count: Count, _ctx: &mut Context<Self>) -> Outcome<u64> {
        Ok(self.pings)
    }
}

pub(super) async fn run(system: &System, config: Config) -> u64 {
    let ponger = system.spawn(Ponger::default()).await.runs();
    let pinger = system.spawn(Pinger { ponger: ponger.clone(), left: config.pings }).await.runs();
    pinger.tell(Pong).runs();
    pinger.wait().await.unwrap();
    let pings = ponger.ask(Count).await.runs();
    ponger.stop();
    pings
}
