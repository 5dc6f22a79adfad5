//! Native kameo.
//!
//! `try_send` is the shortest path its requests have: awaiting a request boxes a future, and
//! `send` waits for room that an unbounded mailbox always has. Where the mailbox is bounded, `send`
//! is the shortest path that waits.

use ::kameo::actor::{Actor, ActorRef, Spawn};
use ::kameo::error::Infallible;
use ::kameo::mailbox;
use ::kameo::message::{Context, Message};

use super::Subject;
use crate::tally::Tally;

pub(crate) struct Counter(Tally);

impl Actor for Counter {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(counter: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(counter)
    }
}

struct Add(u64);

impl Message<Add> for Counter {
    type Reply = ();

    async fn handle(&mut self, message: Add, _ctx: &mut Context<Self, ()>) {
        self.0.add(message.0);
    }
}

struct Get(u64);

impl Message<Get> for Counter {
    type Reply = u64;

    async fn handle(&mut self, message: Get, _ctx: &mut Context<Self, u64>) -> u64 {
        self.0.add(message.0)
    }
}

pub(crate) struct Kameo;

impl Subject for Kameo {
    type Ref = ActorRef<Counter>;
    type BoundedRef = ActorRef<Counter>;

    fn start() -> Self {
        Self
    }

    async fn spawn(&self, tally: Tally) -> Self::Ref {
        let actor = Counter::spawn_with_mailbox(Counter(tally), mailbox::unbounded());
        actor.wait_for_startup().await;
        actor
    }

    async fn spawn_bounded(&self, tally: Tally, capacity: usize) -> Option<Self::BoundedRef> {
        let actor = Counter::spawn_with_mailbox(Counter(tally), mailbox::bounded(capacity));
        actor.wait_for_startup().await;
        Some(actor)
    }

    fn tell(actor: &Self::Ref, n: u64) {
        assert!(actor.tell(Add(n)).try_send().is_ok(), "the actor runs");
    }

    async fn send(actor: &Self::BoundedRef, n: u64) {
        assert!(actor.tell(Add(n)).send().await.is_ok(), "the actor runs");
    }

    async fn ask(actor: &Self::Ref, n: u64) -> u64 {
        match actor.ask(Get(n)).try_send().await {
            Ok(sum) => sum,
            Err(_) => panic!("the actor answers"),
        }
    }

    async fn stop(actor: &Self::Ref) {
        assert!(actor.stop_gracefully().await.is_ok(), "the actor runs");
    }
}
