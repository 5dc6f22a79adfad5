use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::error::Infallible;
use kameo::mailbox::unbounded;
use kameo::message::{Context, Message};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{Answer, Config, Findings, Request, Runs, SortedList};

pub(super) const IDIOM: &str = "`ask(..).try_send()`, which waits for no room; unbounded mailboxes";

struct List(SortedList);

impl Actor for List {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(list: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(list)
    }
}

struct Write(u64);

impl Message<Write> for List {
    type Reply = ();

    async fn handle(&mut self, Write(value): Write, _ctx: &mut Context<Self, ()>) {
        self.0.write(value);
    }
}

struct Contains(u64);

impl Message<Contains> for List {
    type Reply = bool;

    async fn handle(&mut self, Contains(value): Contains, _ctx: &mut Context<Self, bool>) -> bool {
        self.0.contains(value)
    }
}

struct Size;

impl Message<Size> for List {
    type Reply = usize;

    async fn handle(&mut self, Size: Size, _ctx: &mut Context<Self, usize>) -> usize {
        self.0.size()
    }
}

struct Checksum;

impl Message<Checksum> for List {
    type Reply = u64;

    async fn handle(&mut self, Checksum: Checksum, _ctx: &mut Context<Self, u64>) -> u64 {
        self.0.checksum()
    }
}

struct Worker {
    number: u64,
    config: Config,
    list: ActorRef<List>,
}

impl Actor for Worker {
    type Args = Self;
    type Error = Infallible;

    async fn on_start(worker: Self, _actor: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(worker)
    }
}

struct Work(UnboundedSender<Findings>);

impl Message<Work> for Worker {
    type Reply = ();

    async fn handle(&mut self, Work(home): Work, ctx: &mut Context<Self, ()>) {
        let mut findings = Findings::default();
        for request in self.config.requests_of(self.number) {
            match request {
                Request::Write(value) => {
                    self.list.ask(Write(value)).try_send().await.runs();
                    findings.written();
                }
                Request::Contains(value) => {
                    findings.contained(self.list.ask(Contains(value)).try_send().await.runs());
                }
                Request::Size => findings.size(self.list.ask(Size).try_send().await.runs()),
            }
        }
        home.send(findings).runs();
        ctx.stop();
    }
}

pub(super) async fn run(config: Config) -> Answer {
    let list = List::spawn_with_mailbox(List(SortedList::default()), unbounded());
    let (home, mut from_workers) = unbounded_channel();
    for number in 0..config.workers {
        let worker = Worker { number, config, list: list.clone() };
        let worker = Worker::spawn_with_mailbox(worker, unbounded());
        worker.tell(Work(home.clone())).try_send().runs();
    }
    drop(home);
    let mut findings = Vec::new();
    while let Some(of_worker) = from_workers.recv().await {
        findings.push(of_worker);
    }
    let checksum = list.ask(Checksum).try_send().await.runs();
    list.stop_gracefully().await.runs();
    Answer { findings: findings.into_iter().sum(), checksum }
}
