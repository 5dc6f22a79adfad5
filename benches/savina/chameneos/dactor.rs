use dactor::prelude::*;
use tokio::sync::oneshot;

use super::{Answer, Colour, Config, Creature, Runs, Visit};

type Mall = super::Mall<ActorRef<Chameneos>>;
impl Actor for Mall {}

/// Sent by a creature to the mall, which forwards the second of a pair to the first.
#[derive(Message)]
struct Meet(ActorRef<Chameneos>, Colour);

impl Handler<Meet> for Mall {
    async fn handle(&mut self, Meet(chameneos, colour): Meet, _ctx: &mut Context<Self>) -> Outcome<()> {
        match self.visit(chameneos) {
            Visit::Waits => {}
            Visit::Meets { first, second } => first.tell(Meet(second, colour))?,
            Visit::Closed(chameneos) => chameneos.tell(Leave)?,
        }
        Ok(())
    }
}

#[derive(Message)]
struct Left(Creature);

impl Handler<Left> for Mall {
    async fn handle(&mut self, Left(creature): Left, ctx: &mut Context<Self>) -> Outcome<()> {
        if self.leave(creature) {
            ctx.stop();
        }
        Ok(())
    }
}

struct Chameneos {
    creature: Creature,
    mall: ActorRef<Mall>,
}

impl Chameneos {
    fn go(&self, ctx: &Context<Self>) -> Outcome<()> {
        Ok(self.mall.tell(Meet(ctx.actor_ref().clone(), self.creature.colour))?)
    }
}

impl Actor for Chameneos {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        self.go(ctx)
    }
}

impl Handler<Meet> for Chameneos {
    async fn handle(&mut self, Meet(second, colour): Meet, ctx: &mut Context<Self>) -> Outcome<()> {
        second.tell(Change(self.creature.meet(colour)))?;
        self.go(ctx)
    }
}

#[derive(Message)]
struct Change(Colour);

impl Handler<Change> for Chameneos {
    async fn handle(&mut self, Change(colour): Change, ctx: &mut Context<Self>) -> Outcome<()> {
        self.creature.change(colour);
        self.go(ctx)
    }
}

#[derive(Message)]
struct Leave;

impl Handler<Leave> for Chameneos {
    async fn handle(&mut self, Leave: Leave, ctx: &mut Context<Self>) -> Outcome<()> {
        self.mall.tell(Left(self.creature))?;
        ctx.stop();
        Ok(())
    }
}

pub(super) async fn run(system: &System, config: Config) -> Answer {
    let (home, answer) = oneshot::channel();
    let mall = system.spawn(Mall::new(config, home)).await.runs();
    for number in 0..config.creatures {
        let creature = Creature::new(number);
        system.spawn(Chameneos { creature, mall: mall.clone() }).await.runs();
    }
    answer.await.runs()
}
