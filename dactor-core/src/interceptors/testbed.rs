//! Test fixtures for interceptors: a backend on tokio tasks, and an actor that echoes, fails or hangs.

#[path = "../../tests/support/tokio_tasks.rs"]
mod tokio_tasks;

use std::future::pending;

use self::tokio_tasks::TokioTasks;
use crate::{Actor, ActorRef, Context, Failure, Handler, Message, Outcome, System, SystemBuilder};

pub(crate) fn system(configure: impl FnOnce(SystemBuilder) -> SystemBuilder) -> System {
    configure(System::builder("testbed").backend(TokioTasks)).build().unwrap()
}

pub(crate) struct Echo;
impl Actor for Echo {}

/// Echoes the number.
pub(crate) struct Say(pub(crate) u64);
/// Fails.
pub(crate) struct Fault;
/// Never answers.
pub(crate) struct Never;
/// Asks another actor a question that is never answered.
pub(crate) struct Nested(pub(crate) ActorRef<Echo>);

macro_rules! replies {
    ($($message:ty),*) => { $(impl Message for $message { type Reply = u64; type Access = crate::Exclusive; })* };
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
