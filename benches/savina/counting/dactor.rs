use dactor::prelude::*;

use super::{Config, Runs};

#[derive(Default)]
struct Counter {
    count: u64,
}
impl Actor for Counter {}

#[derive(Message)]
struct Increment;

impl Handler<Increment> for Counter {
    async fn handle(&mut self, Increment: Increment, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.count += 1;
        Ok(())
    }
}

#[derive(Message)]
#[message(reply = u64)]
struct Retrieve;

impl Handler<Retrieve> for Counter {
    async fn handle(&mut self, Retrieve: Retrieve, _ctx: &mut Context<Self>) -> Outcome<u64> {
        Ok(self.count)
    }
}

struct Producer {
    counter: ActorRef<Counter>,
    increments: u64,
}
impl Actor for Producer {}

#[derive(Message)]
#[message(reply = u64)]
struct Produce;

impl Handler<Produce> for Producer {
    async fn handle(&mut self, Produce: Produce, _ctx: &mut Context<Self>) -> Outcome<u64> {
        for _ in 0..self.increments {
            self.counter.tell(Increment)?;
        }
        Ok(self.counter.ask(Retrieve).await?)
    }
}

pub(super) async fn run(system: &System, config: Config) -> u64 {
    let counter = system.spawn(Counter::default()).await.runs();
    let producer = Producer { counter: counter.clone(), increments: config.increments };
    let producer = system.spawn(producer).await.runs();
    let count = producer.ask(Produce).await.runs();
    producer.stop();
    counter.stop();
    count
}
