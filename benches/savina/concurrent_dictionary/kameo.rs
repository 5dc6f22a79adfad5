use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};

use super::{Config, Dictionary, Request, Requests, Runs};

pub(super) const IDIOM: &str = "`ask(..).try_send()`; unbounded mailboxes";

impl Actor for Dictionary {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(dictionary: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(dictionary)
    }
}

struct Read {
    key: usize,
}

impl Message<Read> for Dictionary {
    type Reply = usize;

    async fn handle(&mut self, Read { key }: Read, _ctx: &mut Context<Self, usize>) -> usize {
        self.read(key)
    }
}

struct Write {
    key: usize,
    value: usize,
}

impl Message<Write> for Dictionary {
    type Reply = usize;

    async fn handle(&mut self, Write { key, value }: Write, _ctx: &mut Context<Self, usize>) -> usize {
        self.write(key, value)
    }
}

struct Worker {
    dictionary: ActorRef<Dictionary>,
}

impl Actor for Worker {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(worker: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(worker)
    }
}

struct Work(Requests);

impl Message<Work> for Worker {
    type Reply = usize;

    async fn handle(&mut self, Work(requests): Work, _ctx: &mut Context<Self, usize>) -> usize {
        let mut sum = 0;
        for request in requests {
            sum += match request {
                Request::Read { key } => self.dictionary.ask(Read { key }).try_send().await.runs(),
                Request::Write { key, value } => {
                    self.dictionary.ask(Write { key, value }).try_send().await.runs()
                }
            };
        }
        sum
    }
}

pub(super) async fn run(config: Config) -> usize {
    let dictionary = Dictionary::spawn_with_mailbox(Dictionary::default(), unbounded());
    let spawn = |_| Worker::spawn_with_mailbox(Worker { dictionary: dictionary.clone() }, unbounded());
    let workers: Vec<_> = (0..config.workers).map(spawn).collect();
    let ask = |(worker, number): (&ActorRef<Worker>, _)| {
        worker.ask(Work(Requests::of(number, config))).try_enqueue().runs()
    };
    let sums: Vec<_> = workers.iter().zip(0..).map(ask).collect();
    let mut total = 0;
    for sum in sums {
        total += sum.await.runs();
    }
    for worker in &workers {
        worker.stop_gracefully().await.runs();
    }
    dictionary.stop_gracefully().await.runs();
    total
}
