use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};
use tokio::sync::oneshot;

use super::{Answer, Colour, Config, Creature, Runs, Visit};

pub(super) const IDIOM: &str = "`tell(..).try_send()`, which boxes no future; unbounded mailboxes";

type Mall = super::Mall<ActorRef<Chameneos>>;

impl Actor for Mall {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(mall: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(mall)
    }
}

/// Sent by a creature to the mall, which forwards the second of a pair to the first.
struct Meet(ActorRef<Chameneos>, Colour);

impl Message<Meet> for Mall {
    type Reply = ();

    async fn handle(&mut self, Meet(chameneos, colour): Meet, _ctx: &mut Context<Self, ()>) {
        match self.visit(chameneos) {
            Visit::Waits => {}
            Visit::Meets { first, second } => first.tell(Meet(second, colour)).try_send().runs(),
            Visit::Closed(chameneos) => chameneos.tell(Leave).try_send().runs(),
        }
    }
}

struct Left(Creature);

impl Message<Left> for Mall {
    type Reply = ();

    async fn handle(&mut self, Left(creature): Left, ctx: &mut Context<Self, ()>) {
        if self.leave(creature) {
            ctx.stop();
        }
    }
}

struct Chameneos {
    creature: Creature,
    mall: ActorRef<Mall>,
}

impl Chameneos {
    fn go(&self, myself: ActorRef<Self>) {
        self.mall.tell(Meet(myself, self.creature.colour)).try_send().runs();
    }
}

impl Actor for Chameneos {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(chameneos: Self, myself: ActorRef<Self>) -> Result<Self, Infallible> {
        chameneos.go(myself);
        Ok(chameneos)
    }
}

impl Message<Meet> for Chameneos {
    type Reply = ();

    async fn handle(&mut self, Meet(second, colour): Meet, ctx: &mut Context<Self, ()>) {
        second.tell(Change(self.creature.meet(colour))).try_send().runs();
        self.go(ctx.actor_ref().clone());
    }
}

struct Change(Colour);

impl Message<Change> for Chameneos {
    type Reply = ();

    async fn handle(&mut self, Change(colour): Change, ctx: &mut Context<Self, ()>) {
        self.creature.change(colour);
        self.go(ctx.actor_ref().clone());
    }
}

struct Leave;

impl Message<Leave> for Chameneos {
    type Reply = ();

    async fn handle(&mut self, Leave: Leave, ctx: &mut Context<Self, ()>) {
        self.mall.tell(Left(self.creature)).try_send().runs();
        ctx.stop();
    }
}

pub(super) async fn run(config: Config) -> Answer {
    let (home, answer) = oneshot::channel();
    let mall = Mall::spawn_with_mailbox(Mall::new(config, home), unbounded());
    for number in 0..config.creatures {
        let creature = Creature::new(number);
        Chameneos::spawn_with_mailbox(Chameneos { creature, mall: mall.clone() }, unbounded());
    }
    answer.await.runs()
}
