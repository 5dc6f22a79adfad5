use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};

use super::{Config, Consumption, Deal, Exchange, Production, Runs};

pub(super) const IDIOM: &str = "`tell(..).try_send()`, which boxes no future; unbounded mailboxes";

struct Manager(Exchange<ActorRef<Producer>, ActorRef<Consumer>>);

impl Actor for Manager {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(manager: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(manager)
    }
}

impl Manager {
    fn follow(&self, deal: Deal<ActorRef<Producer>, ActorRef<Consumer>>, ctx: &mut Context<Self, ()>) {
        if let Some((consumer, item)) = deal.consume {
            consumer.tell(Consume(item)).try_send().runs();
        }
        if let Some(producer) = deal.produce {
            producer.tell(Produce).try_send().runs();
        }
        if self.0.is_over() {
            ctx.stop();
        }
    }
}

struct Offer(u64, ActorRef<Producer>);

impl Message<Offer> for Manager {
    type Reply = ();

    async fn handle(&mut self, Offer(item, producer): Offer, ctx: &mut Context<Self, ()>) {
        let deal = self.0.offer(item, producer);
        self.follow(deal, ctx);
    }
}

struct Available(ActorRef<Consumer>);

impl Message<Available> for Manager {
    type Reply = ();

    async fn handle(&mut self, Available(consumer): Available, ctx: &mut Context<Self, ()>) {
        let deal = self.0.request(consumer);
        self.follow(deal, ctx);
    }
}

struct Retire;

impl Message<Retire> for Manager {
    type Reply = ();

    async fn handle(&mut self, Retire: Retire, ctx: &mut Context<Self, ()>) {
        let deal = self.0.retire();
        self.follow(deal, ctx);
    }
}

struct Producer {
    production: Production,
    manager: ActorRef<Manager>,
}

impl Actor for Producer {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(producer: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(producer)
    }
}

struct Produce;

impl Message<Produce> for Producer {
    type Reply = ();

    async fn handle(&mut self, Produce: Produce, ctx: &mut Context<Self, ()>) {
        match self.production.next() {
            Some(item) => self.manager.tell(Offer(item, ctx.actor_ref().clone())).try_send().runs(),
            None => {
                self.manager.tell(Retire).try_send().runs();
                ctx.stop();
            }
        }
    }
}

struct Consumer {
    cost: usize,
    consumption: Consumption,
    manager: ActorRef<Manager>,
}

impl Actor for Consumer {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(consumer: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(consumer)
    }
}

struct Consume(u64);

impl Message<Consume> for Consumer {
    type Reply = ();

    async fn handle(&mut self, Consume(item): Consume, ctx: &mut Context<Self, ()>) {
        self.consumption.consume(item, self.cost);
        self.manager.tell(Available(ctx.actor_ref().clone())).try_send().runs();
    }
}

struct Leave;

impl Message<Leave> for Consumer {
    type Reply = Result<Consumption, Infallible>;

    async fn handle(&mut self, Leave: Leave, ctx: &mut Context<Self, Self::Reply>) -> Self::Reply {
        ctx.stop();
        Ok(self.consumption)
    }
}

pub(super) async fn run(config: Config) -> Consumption {
    let manager = Manager::spawn_with_mailbox(Manager(config.exchange()), unbounded());
    let mut consumers = Vec::new();
    for _ in 0..config.consumers {
        let consumption = Consumption::default();
        let consumer = Consumer { cost: config.cost, consumption, manager: manager.clone() };
        let consumer = Consumer::spawn_with_mailbox(consumer, unbounded());
        manager.tell(Available(consumer.clone())).try_send().runs();
        consumers.push(consumer);
    }
    for number in 0..config.producers {
        let producer = Producer { production: Production::new(config, number), manager: manager.clone() };
        Producer::spawn_with_mailbox(producer, unbounded()).tell(Produce).try_send().runs();
    }
    manager.wait_for_shutdown().await;
    let mut consumed = Vec::new();
    for consumer in &consumers {
        consumed.push(consumer.ask(Leave).try_send().await.runs());
    }
    consumed.into_iter().sum()
}
