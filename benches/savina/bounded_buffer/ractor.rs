use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};

use super::{Config, Consumption, Exchange, Production, Runs};

pub(super) const IDIOM: &str = "`cast`; the reference that a handler is given goes out with the message";

struct Manager;

enum ToManager {
    Offer(u64, ActorRef<Produce>),
    Available(ActorRef<ToConsumer>),
    Retire,
}

impl Actor for Manager {
    type Msg = ToManager;
    type State = Exchange<ActorRef<Produce>, ActorRef<ToConsumer>>;
    type Arguments = Self::State;

    async fn pre_start(
        &self,
        _myself: ActorRef<ToManager>,
        exchange: Self::State,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(exchange)
    }

    async fn handle(
        &self,
        myself: ActorRef<ToManager>,
        message: ToManager,
        exchange: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let deal = match message {
            ToManager::Offer(item, producer) => exchange.offer(item, producer),
            ToManager::Available(consumer) => exchange.request(consumer),
            ToManager::Retire => exchange.retire(),
        };
        if let Some((consumer, item)) = deal.consume {
            consumer.cast(ToConsumer::Consume(item))?;
        }
        if let Some(producer) = deal.produce {
            producer.cast(Produce)?;
        }
        if exchange.is_over() {
            myself.stop(None);
        }
        Ok(())
    }
}

struct Producer {
    manager: ActorRef<ToManager>,
}

struct Produce;

impl Actor for Producer {
    type Msg = Produce;
    type State = Production;
    type Arguments = Production;

    async fn pre_start(
        &self,
        _myself: ActorRef<Produce>,
        production: Production,
    ) -> Result<Production, ActorProcessingErr> {
        Ok(production)
    }

    async fn handle(
        &self,
        myself: ActorRef<Produce>,
        Produce: Produce,
        production: &mut Production,
    ) -> Result<(), ActorProcessingErr> {
        match production.next() {
            Some(item) => self.manager.cast(ToManager::Offer(item, myself))?,
            None => {
                self.manager.cast(ToManager::Retire)?;
                myself.stop(None);
            }
        }
        Ok(())
    }
}

struct Consumer {
    cost: usize,
    manager: ActorRef<ToManager>,
}

enum ToConsumer {
    Consume(u64),
    Leave(RpcReplyPort<Consumption>),
}

impl Actor for Consumer {
    type Msg = ToConsumer;
    type State = Consumption;
    type Arguments = ();

    async fn pre_start(
        &self,
        _myself: ActorRef<ToConsumer>,
        (): (),
    ) -> Result<Consumption, ActorProcessingErr> {
        Ok(Consumption::default())
    }

    async fn handle(
        &self,
        myself: ActorRef<ToConsumer>,
        message: ToConsumer,
        consumption: &mut Consumption,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToConsumer::Consume(item) => {
                consumption.consume(item, self.cost);
                self.manager.cast(ToManager::Available(myself))?;
            }
            ToConsumer::Leave(reply) => {
                reply.send(*consumption)?;
                myself.stop(None);
            }
        }
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> Consumption {
    let (manager, manager_task) = Actor::spawn(None, Manager, config.exchange()).await.runs();
    let mut consumers = Vec::new();
    for _ in 0..config.consumers {
        let consumer = Consumer { cost: config.cost, manager: manager.clone() };
        let (consumer, _) = Actor::spawn(None, consumer, ()).await.runs();
        manager.cast(ToManager::Available(consumer.clone())).runs();
        consumers.push(consumer);
    }
    for number in 0..config.producers {
        let (producer, production) = (Producer { manager: manager.clone() }, Production::new(config, number));
        let (producer, _) = Actor::spawn(None, producer, production).await.runs();
        producer.cast(Produce).runs();
    }
    manager_task.await.runs();
    let mut consumed = Vec::new();
    for consumer in &consumers {
        consumed.push(call!(consumer, ToConsumer::Leave).runs());
    }
    consumed.into_iter().sum()
}
