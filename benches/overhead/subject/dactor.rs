//! dactor on each backend: one actor and one set of calls, generic over the backend, so that the
//! two columns differ only in the backend.

use std::marker::PhantomData;

use dactor_core::spi::Backend;
use dactor_core::{Actor, ActorRef, Context, Handler, Inbound, Message, Outcome, Overflow, System};

use super::Subject;
use crate::tally::Tally;

/// Names a backend at compile time.
pub(crate) trait Engine: Send + Sync + 'static {
    fn backend() -> impl Backend;
}

pub(crate) struct OverRactor;

impl Engine for OverRactor {
    fn backend() -> impl Backend {
        dactor_ractor::ractor()
    }
}

pub(crate) struct OverKameo;

impl Engine for OverKameo {
    fn backend() -> impl Backend {
        dactor_kameo::kameo()
    }
}

pub(crate) struct Counter(Tally);

impl Actor for Counter {}

struct Add(u64);

impl Message for Add {
    type Reply = ();
    type Access = dactor_core::Exclusive;
}

impl Handler<Add> for Counter {
    async fn handle(&mut self, message: Add, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.0.add(message.0);
        Ok(())
    }
}

struct Get(u64);

impl Message for Get {
    type Reply = u64;
    type Access = dactor_core::Exclusive;
}

impl Handler<Get> for Counter {
    async fn handle(&mut self, message: Get, _ctx: &mut Context<Self>) -> Outcome<u64> {
        Ok(self.0.add(message.0))
    }
}

/// An interceptor that does nothing.
struct NoOp;

impl Inbound for NoOp {}

/// dactor on the backend that `E` provides.
pub(crate) struct Dactor<E> {
    system: System,
    engine: PhantomData<E>,
}

impl<E: Engine> Subject for Dactor<E> {
    type Ref = ActorRef<Counter>;
    type BoundedRef = ActorRef<Counter>;

    fn start() -> Self {
        let system = System::builder("bench").backend(E::backend()).build().expect("the system builds");
        Self { system, engine: PhantomData }
    }

    async fn spawn(&self, tally: Tally) -> Self::Ref {
        match self.system.spawn(Counter(tally)).await {
            Ok(actor) => actor,
            Err(_) => panic!("the counter starts"),
        }
    }

    async fn spawn_intercepted(&self, tally: Tally, interceptors: usize) -> Self::Ref {
        let spawn = (0..interceptors).fold(self.system.spawn(Counter(tally)), |spawn, _| spawn.inbound(NoOp));
        match spawn.await {
            Ok(actor) => actor,
            Err(_) => panic!("the counter starts"),
        }
    }

    async fn spawn_bounded(&self, tally: Tally, capacity: usize) -> Option<Self::BoundedRef> {
        match self.system.spawn(Counter(tally)).bounded(capacity, Overflow::Block).await {
            Ok(actor) => Some(actor),
            Err(_) => panic!("the counter starts"),
        }
    }

    fn tell(actor: &Self::Ref, n: u64) {
        assert!(actor.tell(Add(n)).is_ok(), "the actor runs");
    }

    async fn send(actor: &Self::BoundedRef, n: u64) {
        assert!(actor.send(Add(n)).await.is_ok(), "the actor runs");
    }

    async fn ask(actor: &Self::Ref, n: u64) -> u64 {
        match actor.ask(Get(n)).await {
            Ok(sum) => sum,
            Err(_) => panic!("the actor answers"),
        }
    }

    async fn stop(actor: &Self::Ref) {
        actor.stop();
    }
}
