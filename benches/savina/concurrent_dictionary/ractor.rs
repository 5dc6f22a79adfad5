use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};
use tokio::sync::oneshot;

use super::{Config, Dictionary, Request, Requests, Runs};

pub(super) const IDIOM: &str = "`call!`";

struct DictionaryActor;

enum ToDictionary {
    Read(usize, RpcReplyPort<usize>),
    Write(usize, usize, RpcReplyPort<usize>),
}

impl Actor for DictionaryActor {
    type Msg = ToDictionary;
    type State = Dictionary;
    type Arguments = ();

    async fn pre_start(
        &self,
        _myself: ActorRef<ToDictionary>,
        (): (),
    ) -> Result<Dictionary, ActorProcessingErr> {
        Ok(Dictionary::default())
    }

    async fn handle(
        &self,
        _myself: ActorRef<ToDictionary>,
        message: ToDictionary,
        dictionary: &mut Dictionary,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToDictionary::Read(key, reply) => reply.send(dictionary.read(key))?,
            ToDictionary::Write(key, value, reply) => reply.send(dictionary.write(key, value))?,
        }
        Ok(())
    }
}

struct Worker {
    dictionary: ActorRef<ToDictionary>,
}

struct Work(Requests, RpcReplyPort<usize>);

impl Actor for Worker {
    type Msg = Work;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _myself: ActorRef<Work>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _myself: ActorRef<Work>,
        Work(requests, reply): Work,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        let mut sum = 0;
        for request in requests {
            sum += match request {
                Request::Read { key } => call!(self.dictionary, ToDictionary::Read, key)?,
                Request::Write { key, value } => call!(self.dictionary, ToDictionary::Write, key, value)?,
            };
        }
        reply.send(sum)?;
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> usize {
    let (dictionary, _) = Actor::spawn(None, DictionaryActor, ()).await.runs();
    let mut workers = Vec::with_capacity(config.workers);
    for _ in 0..config.workers {
        let (worker, _) = Actor::spawn(None, Worker { dictionary: dictionary.clone() }, ()).await.runs();
        workers.push(worker);
    }
    // `call!` sends when it is awaited, which would run the workers one after the other.
    let ask = |(worker, number): (&ActorRef<Work>, _)| {
        let (reply, sum) = oneshot::channel();
        worker.cast(Work(Requests::of(number, config), reply.into())).runs();
        sum
    };
    let sums: Vec<_> = workers.iter().zip(0..).map(ask).collect();
    let mut total = 0;
    for sum in sums {
        total += sum.await.runs();
    }
    for worker in &workers {
        worker.stop(None);
    }
    dictionary.stop(None);
    total
}
