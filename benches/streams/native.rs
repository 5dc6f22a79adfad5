//! A message per item, to a native actor.

use std::time::Duration;

use super::{CAPACITY, timed};

mod on_ractor {
    use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

    pub(super) struct Sum;

    pub(super) enum ToSum {
        Add(u64),
        Get(RpcReplyPort<u64>),
    }

    impl Actor for Sum {
        type Msg = ToSum;
        type State = u64;
        type Arguments = ();

        async fn pre_start(&self, _: ActorRef<ToSum>, (): ()) -> Result<u64, ActorProcessingErr> {
            Ok(0)
        }

        async fn handle(
            &self,
            _: ActorRef<ToSum>,
            message: ToSum,
            sum: &mut u64,
        ) -> Result<(), ActorProcessingErr> {
            match message {
                ToSum::Add(item) => *sum += item,
                ToSum::Get(reply) => reply.send(*sum)?,
            }
            Ok(())
        }
    }
}

/// `cast`; ractor's mailboxes are unbounded.
pub(super) async fn ractor(items: u64, expected: u64) -> Duration {
    use on_ractor::{Sum, ToSum};
    let (actor, handle) = ractor::Actor::spawn(None, Sum, ()).await.expect("an actor");
    let run = async move {
        for item in 0..items {
            actor.cast(ToSum::Add(item)).expect("it lives");
        }
        let sum = ractor::call!(actor, ToSum::Get).expect("it answers");
        actor.stop(None);
        sum
    };
    let elapsed = timed(run, expected).await;
    handle.await.expect("it stops");
    elapsed
}

mod on_kameo {
    use kameo::actor::{Actor, ActorRef};
    use kameo::error::Infallible;
    use kameo::message::{Context, Message};

    pub(super) struct Sum(pub(super) u64);

    impl Actor for Sum {
        type Args = Self;
        type Error = Infallible;

        async fn on_start(sum: Self, _: ActorRef<Self>) -> Result<Self, Infallible> {
            Ok(sum)
        }
    }

    pub(super) struct Add(pub(super) u64);
    pub(super) struct Get;

    impl Message<Add> for Sum {
        type Reply = ();

        async fn handle(&mut self, Add(item): Add, _: &mut Context<Self, ()>) {
            self.0 += item;
        }
    }

    impl Message<Get> for Sum {
        type Reply = u64;

        async fn handle(&mut self, Get: Get, _: &mut Context<Self, u64>) -> u64 {
            self.0
        }
    }
}

/// `tell(..).await`, in a mailbox as large as the buffer of a stream.
pub(super) async fn kameo(items: u64, expected: u64) -> Duration {
    use kameo::actor::Spawn;
    use on_kameo::{Add, Get, Sum};
    let actor = Sum::spawn_with_mailbox(Sum(0), kameo::mailbox::bounded(CAPACITY));
    let run = async move {
        for item in 0..items {
            actor.tell(Add(item)).await.expect("it lives");
        }
        let sum = actor.ask(Get).await.expect("it answers");
        actor.stop_gracefully().await.expect("it stops");
        sum
    };
    timed(run, expected).await
}
