use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::oneshot;

use super::{Answer, Colour, Config, Creature, Mall, Runs, Visit};

pub(super) const IDIOM: &str = "`cast`; the reference that a handler is given goes to the mall";

struct MallActor;

enum ToMall {
    Meet(ActorRef<ToChameneos>, Colour),
    Left(Creature),
}

impl Actor for MallActor {
    type Msg = ToMall;
    type State = Mall<ActorRef<ToChameneos>>;
    type Arguments = Self::State;

    async fn pre_start(
        &self,
        _myself: ActorRef<ToMall>,
        mall: Self::State,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(mall)
    }

    async fn handle(
        &self,
        myself: ActorRef<ToMall>,
        message: ToMall,
        mall: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToMall::Meet(chameneos, colour) => match mall.visit(chameneos) {
                Visit::Waits => {}
                Visit::Meets { first, second } => first.cast(ToChameneos::Meet(second, colour))?,
                Visit::Closed(chameneos) => chameneos.cast(ToChameneos::Leave)?,
            },
            ToMall::Left(creature) => {
                if mall.leave(creature) {
                    myself.stop(None);
                }
            }
        }
        Ok(())
    }
}

struct Chameneos {
    mall: ActorRef<ToMall>,
}

enum ToChameneos {
    Meet(ActorRef<ToChameneos>, Colour),
    Change(Colour),
    Leave,
}

impl Chameneos {
    fn go(&self, myself: ActorRef<ToChameneos>, creature: &Creature) -> Result<(), ActorProcessingErr> {
        Ok(self.mall.cast(ToMall::Meet(myself, creature.colour))?)
    }
}

impl Actor for Chameneos {
    type Msg = ToChameneos;
    type State = Creature;
    type Arguments = Creature;

    async fn pre_start(
        &self,
        myself: ActorRef<ToChameneos>,
        creature: Creature,
    ) -> Result<Creature, ActorProcessingErr> {
        self.go(myself, &creature)?;
        Ok(creature)
    }

    async fn handle(
        &self,
        myself: ActorRef<ToChameneos>,
        message: ToChameneos,
        creature: &mut Creature,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToChameneos::Meet(second, colour) => {
                second.cast(ToChameneos::Change(creature.meet(colour)))?;
                self.go(myself, creature)?;
            }
            ToChameneos::Change(colour) => {
                creature.change(colour);
                self.go(myself, creature)?;
            }
            ToChameneos::Leave => {
                self.mall.cast(ToMall::Left(*creature))?;
                myself.stop(None);
            }
        }
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> Answer {
    let (home, answer) = oneshot::channel();
    let (mall, _) = Actor::spawn(None, MallActor, Mall::new(config, home)).await.runs();
    for number in 0..config.creatures {
        let chameneos = Chameneos { mall: mall.clone() };
        Actor::spawn(None, chameneos, Creature::new(number)).await.runs();
    }
    answer.await.runs()
}
