//! What the tests of the interceptors run on: a backend of bare tasks, and an actor that does what it is told.

use std::any::Any;
use std::future::{pending, poll_fn};

use crate::spi::{Backend, Cell, Host};
use crate::{Actor, ActorRef, Context, Failure, Handler, Message, Outcome, Result, System, SystemBuilder};

struct Bare;

impl Backend for Bare {
    fn name(&self) -> &'static str {
        "bare"
    }

    fn spawn(&self, mut cell: Cell) -> Result<()> {
        cell.bind(Self);
        tokio::spawn(poll_fn(move |cx| cell.poll_run(cx).map(drop)));
        Ok(())
    }
}

impl Host for Bare {
    fn native(&self) -> &(dyn Any + Send + Sync) {
        self
    }
}

pub(crate) fn system(configure: impl FnOnce(SystemBuilder) -> SystemBuilder) -> System {
    configure(System::builder("testbed").backend(Bare)).build().unwrap()
}

pub(crate) struct Echo;
impl Actor for Echo {}

/// Is said again.
pub(crate) struct Say(pub(crate) u64);
/// Fails.
pub(crate) struct Fault;
/// Is never answered.
pub(crate) struct Never;
/// Asks another one something that is never answered.
pub(crate) struct Nested(pub(crate) ActorRef<Echo>);

macro_rules! replies {
    ($($message:ty),*) => { $(impl Message for $message { type Reply = u64; })* };
}
replies!(Say, Fault, Never, Nested);

impl Handler<Say> for Echo {
    async fn handle(&mut self, Say(number): Say, _ctx: &mut Context<Self>) -> Outcome<u64> {
        Ok(number)
    }
}

impl Handler<Fault> for Echo {
    async fn handle(&mut self, Fault: Fault, _ctx: &mut Context<Self>) -> Outcome<u64> {
        Err(Failure::new("a fault"))
    }
}

impl Handler<Never> for Echo {
    async fn handle(&mut self, Never: Never, _ctx: &mut Context<Self>) -> Outcome<u64> {
        pending().await
    }
}

impl Handler<Nested> for Echo {
    async fn handle(&mut self, Nested(other): Nested, _ctx: &mut Context<Self>) -> Outcome<u64> {
        Ok(other.ask(Never).await?)
    }
}
