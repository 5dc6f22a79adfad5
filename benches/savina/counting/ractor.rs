use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};

use super::{Config, Runs};

pub(super) const IDIOM: &str = "`cast`; `call!` for the value";

struct Counter;

enum ToCounter {
    Increment,
    Retrieve(RpcReplyPort<u64>),
}

impl Actor for Counter {
    type Msg = ToCounter;
    type State = u64;
    type Arguments = ();

    async fn pre_start(&self, _myself: ActorRef<ToCounter>, (): ()) -> Result<u64, ActorProcessingErr> {
        Ok(0)
    }

    async fn handle(
        &self,
        _myself: ActorRef<ToCounter>,
        message: ToCounter,
        count: &mut u64,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToCounter::Increment => *count += 1,
            ToCounter::Retrieve(reply) => reply.send(*count)?,
        }
        Ok(())
    }
}

struct Producer {
    counter: ActorRef<ToCounter>,
    increments: u64,
}

struct Produce(RpcReplyPort<u64>);

impl Actor for Producer {
    type Msg = Produce;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _myself: ActorRef<Produce>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _myself: ActorRef<Produce>,
        Produce(reply): Produce,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        for _ in 0..self.increments {
            self.counter.cast(ToCounter::Increment)?;
        }
        reply.send(call!(self.counter, ToCounter::Retrieve)?)?;
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> u64 {
    let (counter, _) = Actor::spawn(None, Counter, ()).await.runs();
    let producer = Producer { counter: counter.clone(), increments: config.increments };
    let (producer, _) = Actor::spawn(None, producer, ()).await.runs();
    let count = call!(producer, Produce).runs();
    producer.stop(None);
    counter.stop(None);
    count
}
