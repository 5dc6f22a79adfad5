//! Test fixtures for interceptors: a backend on tokio tasks, and an actor that echoes, fails or hangs.

#[path = "../../tests/support/tokio_tasks.rs"]
mod tokio_tasks;

use std::future::pending;

use self::tokio_tasks::TokioTasks;
use crate::{
    Actor, ActorRef, Context, Expand, ExpandHandler, Failure, Handler, Input, Message, Outcome, Producer,
    Reduce, ReduceHandler, System, SystemBuilder,
};

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

/// Is answered by the numbers below the first field, and then by an end, a fault or nothing for ever.
pub(crate) struct Numbers(pub(crate) u64, pub(crate) Then);

#[derive(Clone, Copy)]
pub(crate) enum Then {
    Finish,
    Fail,
    /// The producer outlives the handler.
    Beside,
}

impl Expand for Numbers {
    type Item = u64;
}

impl ExpandHandler<Numbers> for Echo {
    async fn expand(
        &mut self,
        Numbers(count, then): Numbers,
        mut out: Producer<u64>,
        _: &mut Context<Self>,
    ) -> Outcome<()> {
        for number in 0..count {
            out.send(number).await?;
        }
        match then {
            Then::Finish => Ok(out.finish().await?),
            Then::Fail => Err(Failure::new("a fault")),
            Then::Beside => {
                tokio::spawn(async move { out.closed().await });
                Ok(())
            }
        }
    }
}

/// Is answered by the sum of its items.
pub(crate) struct Sum;

impl Reduce for Sum {
    type Item = u64;
    type Reply = u64;
}

impl ReduceHandler<Sum> for Echo {
    async fn reduce(&mut self, Sum: Sum, mut numbers: Input<u64>, _: &mut Context<Self>) -> Outcome<u64> {
        let mut sum = 0;
        while let Some(number) = numbers.next().await {
            sum += number?;
        }
        Ok(sum)
    }
}
