use dactor::prelude::*;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{Answer, Config, Findings, Request, Runs, SortedList};

#[derive(Default)]
struct List(SortedList);
impl Actor for List {}

#[derive(Message)]
struct Write(u64);

impl Handler<Write> for List {
    async fn handle(&mut self, Write(value): Write, _ctx: &mut Context<Self>) -> Outcome<()> {
        self.0.write(value);
        Ok(())
    }
}

#[derive(Message)]
#[message(reply = bool)]
struct Contains(u64);

impl Handler<Contains> for List {
    async fn handle(&mut self, Contains(value): Contains, _ctx: &mut Context<Self>) -> Outcome<bool> {
        Ok(self.0.contains(value))
    }
}

#[derive(Message)]
#[message(reply = usize)]
struct Size;

impl Handler<Size> for List {
    async fn handle(&mut self, Size: Size, _ctx: &mut Context<Self>) -> Outcome<usize> {
        Ok(self.0.size())
    }
}

#[derive(Message)]
#[message(reply = u64)]
struct Checksum;

impl Handler<Checksum> for List {
    async fn handle(&mut self, Checksum: Checksum, _ctx: &mut Context<Self>) -> Outcome<u64> {
        Ok(self.0.checksum())
    }
}

struct Worker {
    number: u64,
    config: Config,
    list: ActorRef<List>,
}
impl Actor for Worker {}

#[derive(Message)]
struct Work(UnboundedSender<Findings>);

impl Handler<Work> for Worker {
    async fn handle(&mut self, Work(home): Work, ctx: &mut Context<Self>) -> Outcome<()> {
        let mut findings = Findings::default();
        for request in self.config.requests_of(self.number) {
            match request {
                Request::Write(value) => {
                    self.list.ask(Write(value)).await?;
                    findings.written();
                }
                Request::Contains(value) => findings.contained(self.list.ask(Contains(value)).await?),
                Request::Size => findings.size(self.list.ask(Size).await?),
            }
        }
        home.send(findings).runs();
        ctx.stop();
        Ok(())
    }
}

pub(super) async fn run(system: &System, config: Config) -> Answer {
    let list = system.spawn(List::default()).await.runs();
    let (home, mut from_workers) = unbounded_channel();
    for number in 0..config.workers {
        let worker = system.spawn(Worker { number, config, list: list.clone() }).await.runs();
        worker.tell(Work(home.clone())).runs();
    }
    drop(home);
    let mut findings = Vec::new();
    while let Some(of_worker) = from_workers.recv().await {
        findings.push(of_worker);
    }
    let checksum = list.ask(Checksum).await.runs();
    list.stop();
    Answer { findings: findings.into_iter().sum(), checksum }
}
