use dactor::prelude::*;

use super::{Config, Consumption, Deal, Exchange, Production, Runs};

struct Manager(Exchange<ActorRef<Producer>, ActorRef<Consumer>>);
impl Actor for Manager {}

impl Manager {
    fn follow(&self, deal: Deal<ActorRef<Producer>, ActorRef<Consumer>>, ctx: &Context<Self>) -> Outcome<()> {
        if let Some((consumer, item)) = deal.consume {
            consumer.tell(Consume(item))?;
        }
        if let Some(producer) = deal.produce {
            producer.tell(Produce)?;
        }
        if self.0.is_over() {
            ctx.stop();
        }
        Ok(())
    }
}

#[derive(Message)]
struct Offer(u64, ActorRef<Producer>);

impl Handler<Offer> for Manager {
    async fn handle(&mut self, Offer(item, producer): Offer, ctx: &mut Context<Self>) -> Outcome<()> {
        let deal = self.0.offer(item, producer);
        self.follow(deal, ctx)
    }
}

#[derive(Message)]
struct Available(ActorRef<Consumer>);

impl Handler<Available> for Manager {
    async fn handle(&mut self, Available(consumer): Available, ctx: &mut Context<Self>) -> Outcome<()> {
        let deal = self.0.request(consumer);
        self.follow(deal, ctx)
    }
}

#[derive(Message)]
struct Retire;

impl Handler<Retire> for Manager {
    async fn handle(&mut self, Retire: Retire, ctx: &mut Context<Self>) -> Outcome<()> {
        let deal = self.0.retire();
        self.follow(deal, ctx)
    }
}

struct Producer {
    production: Production,
    manager: ActorRef<Manager>,
}
impl Actor for Producer {}

#[derive(Message)]
struct Produce;

impl Handler<Produce> for Producer {
    async fn handle(&mut self, Produce: Produce, ctx: &mut Context<Self>) -> Outcome<()> {
        match self.production.next() {
            Some(item) => self.manager.tell(Offer(item, ctx.actor_ref().clone()))?,
            None => {
                self.manager.tell(Retire)?;
                ctx.stop();
            }
        }
        Ok(())
    }
}

struct Consumer {
    cost: usize,
    consumption: Consumption,
    manager: ActorRef<Manager>,
}
impl Actor for Consumer {}

#[derive(Message)]
struct Consume(u64);

impl Handler<Consume> for Consumer {
    async fn handle(&mut self, Consume(item): Consume, ctx: &mut Context<Self>) -> Outcome<()> {
        self.consumption.consume(item, self.cost);
        self.manager.tell(Available(ctx.actor_ref().clone()))?;
        Ok(())
    }
}

#[derive(Message)]
#[message(reply = Consumption)]
struct Leave;

impl Handler<Leave> for Consumer {
    async fn handle(&mut self, Leave: Leave, ctx: &mut Context<Self>) -> Outcome<Consumption> {
        ctx.stop();
        Ok(self.consumption)
    }
}

pub(super) async fn run(system: &System, config: Config) -> Consumption {
    let manager = system.spawn(Manager(config.exchange())).await.runs();
    let mut consumers = Vec::new();
    for _ in 0..config.consumers {
        let consumption = Consumption::default();
        let consumer = Consumer { cost: config.cost, consumption, manager: manager.clone() };
        let consumer = system.spawn(consumer).await.runs();
        manager.tell(Available(consumer.clone())).runs();
        consumers.push(consumer);
    }
    for number in 0..config.producers {
        let producer = Producer { production: Production::new(config, number), manager: manager.clone() };
        system.spawn(producer).await.runs().tell(Produce).runs();
    }
    manager.wait().await.unwrap();
    let mut consumed = Vec::new();
    for consumer in &consumers {
        consumed.push(consumer.ask(Leave).await.runs());
    }
    consumed.into_iter().sum()
}
