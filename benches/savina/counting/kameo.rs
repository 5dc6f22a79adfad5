use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};

use super::{Config, Runs};

pub(super) const IDIOM: &str =
    "`tell(..).try_send()`, which boxes no future; `ask(..).try_send()` for the value; unbounded mailboxes";

struct Counter {
    count: u64,
}

impl Actor for Counter {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(counter: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(counter)
    }
}

struct Increment;

impl Message<Increment> for Counter {
    type Reply = ();

    async fn handle(&mut self, Increment: Increment, _ctx: &mut Context<Self, ()>) {
        self.count += 1;
    }
}

struct Retrieve;

impl Message<Retrieve> for Counter {
    type Reply = u64;

    async fn handle(&mut self, Retrieve: Retrieve, _ctx: &mut Context<Self, u64>) -> u64 {
        self.count
    }
}

struct Producer {
    counter: ActorRef<Counter>,
    increments: u64,
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
    type Reply = u64;

    async fn handle(&mut self, Produce: Produce, _ctx: &mut Context<Self, u64>) -> u64 {
        for _ in 0..self.increments {
            self.counter.tell(Increment).try_send().runs();
        }
        self.counter.ask(Retrieve).try_send().await.runs()
    }
}

pub(super) async fn run(config: Config) -> u64 {
    let counter = Counter::spawn_with_mailbox(Counter { count: 0 }, unbounded());
    let producer = Producer { counter: counter.clone(), increments: config.increments };
    let producer = Producer::spawn_with_mailbox(producer, unbounded());
    let count = producer.ask(Produce).try_send().await.runs();
    producer.stop_gracefully().await.runs();
    counter.stop_gracefully().await.runs();
    count
}
