//! Native ractor: `cast` to tell, `call` without a timeout to ask. Its mailboxes are unbounded.

use std::convert::Infallible;

use ::ractor::rpc::CallResult;
use ::ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use super::Subject;
use crate::tally::Tally;

pub(crate) enum Message {
    Add(u64),
    Get(u64, RpcReplyPort<u64>),
}

struct Counter;

impl Actor for Counter {
    type Msg = Message;
    type State = Tally;
    type Arguments = Tally;

    async fn pre_start(&self, _myself: ActorRef<Message>, tally: Tally) -> Result<Tally, ActorProcessingErr> {
        Ok(tally)
    }

    async fn handle(
        &self,
        _myself: ActorRef<Message>,
        message: Message,
        tally: &mut Tally,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Add(n) => {
                tally.add(n);
            }
            Message::Get(n, reply) => {
                // Fails if the caller has given up.
                let _ = reply.send(tally.add(n));
            }
        }
        Ok(())
    }
}

pub(crate) struct Ractor;

impl Subject for Ractor {
    type Ref = ActorRef<Message>;
    type BoundedRef = Infallible;

    fn start() -> Self {
        Self
    }

    async fn spawn(&self, tally: Tally) -> Self::Ref {
        let (actor, _task) = Actor::spawn(None, Counter, tally).await.expect("the counter starts");
        actor
    }

    async fn spawn_bounded(&self, _tally: Tally, _capacity: usize) -> Option<Self::BoundedRef> {
        None
    }

    fn tell(actor: &Self::Ref, n: u64) {
        assert!(actor.cast(Message::Add(n)).is_ok(), "the actor runs");
    }

    async fn send(actor: &Self::BoundedRef, _n: u64) {
        match *actor {}
    }

    async fn ask(actor: &Self::Ref, n: u64) -> u64 {
        match actor.call(|reply| Message::Get(n, reply), None).await {
            Ok(CallResult::Success(sum)) => sum,
            _ => panic!("the actor answers"),
        }
    }

    async fn stop(actor: &Self::Ref) {
        actor.stop(None);
    }
}
