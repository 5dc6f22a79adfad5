use dactor::prelude::*;

use super::{Config, Dictionary, Request, Requests, Runs};

impl Actor for Dictionary {}

#[derive(Message)]
#[message(reply = usize)]
struct Read {
    key: usize,
}

impl Handler<Read> for Dictionary {
    async fn handle(&mut self, Read { key }: Read, _ctx: &mut Context<Self>) -> Outcome<usize> {
        Ok(self.read(key))
    }
}

#[derive(Message)]
#[message(reply = usize)]
struct Write {
    key: usize,
    value: usize,
}

impl Handler<Write> for Dictionary {
    async fn handle(&mut self, Write { key, value }: Write, _ctx: &mut Context<Self>) -> Outcome<usize> {
        Ok(self.write(key, value))
    }
}

struct Worker {
    dictionary: ActorRef<Dictionary>,
}
impl Actor for Worker {}

#[derive(Message)]
#[message(reply = usize)]
struct Work(Requests);

impl Handler<Work> for Worker {
    async fn handle(&mut self, Work(requests): Work, _ctx: &mut Context<Self>) -> Outcome<usize> {
        let mut sum = 0;
        for request in requests {
            sum += match request {
                Request::Read { key } => self.dictionary.ask(Read { key }).await?,
                Request::Write { key, value } => self.dictionary.ask(Write { key, value }).await?,
            };
        }
        Ok(sum)
    }
}

pub(super) async fn run(system: &System, config: Config) -> usize {
    let dictionary = system.spawn(Dictionary::default()).await.runs();
    let mut workers = Vec::with_capacity(config.workers);
    for _ in 0..config.workers {
        workers.push(system.spawn(Worker { dictionary: dictionary.clone() }).await.runs());
    }
    let ask = |(worker, number): (&ActorRef<Worker>, _)| {
        worker.ask(Work(Requests::of(number, config))).enqueue().runs()
    };
    let sums: Vec<_> = workers.iter().zip(0..).map(ask).collect();
    let mut total = 0;
    for sum in sums {
        total += sum.await.runs();
    }
    for worker in &workers {
        worker.stop();
    }
    dictionary.stop();
    total
}
