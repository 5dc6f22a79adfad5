use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};

use super::{Config, Runs};

pub(super) const IDIOM: &str = "`tell(..).try_send()`, which boxes no future; unbounded mailboxes";

struct Pinger {
    ponger: ActorRef<Ponger>,
    left: u64,
}

impl Actor for Pinger {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(pinger: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(pinger)
    }
}

/// Also starts the benchmark: the pinger sends its first ping.
struct Pong;

impl Message<Pong> for Pinger {
    type Reply = ();

    async fn handle(&mut self, Pong: Pong, ctx: &mut Context<Self, ()>) {
        if self.left == 0 {
            ctx.stop();
        } else {
            self.left -= 1;
            self.ponger.tell(Ping(ctx.actor_ref().clone())).try_send().runs();
        }
    }
}

struct Ponger {
    pings: u64,
}

impl Actor for Ponger {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(ponger: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(ponger)
    }
}

struct Ping(ActorRef<Pinger>);

impl Message<Ping> for Ponger {
    type Reply = ();

    async fn handle(&mut self, Ping(pinger): Ping, _ctx: &mut Context<Self, ()>) {
        self.pings += 1;
        pinger.tell(Pong).try_send().runs();
    }
}

struct Count;

impl Message<Count> for Ponger {
    type Reply = u64;

    async fn handle(&mut self, Count: Count, _ctx: &mut Context<Self, u64>) -> u64 {
        self.pings
    }
}

pub(super) async fn run(config: Config) -> u64 {
    let ponger = Ponger::spawn_with_mailbox(Ponger { pings: 0 }, unbounded());
    let pinger =
        Pinger::spawn_with_mailbox(Pinger { ponger: ponger.clone(), left: config.pings }, unbounded());
    pinger.tell(Pong).try_send().runs();
    pinger.wait_for_shutdown().await;
    let pings = ponger.ask(Count).try_send().await.runs();
    ponger.stop_gracefully().await.runs();
    pings
}
