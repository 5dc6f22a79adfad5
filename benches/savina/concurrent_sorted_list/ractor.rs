use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::{Answer, Config, Findings, Request, Runs, SortedList};

pub(super) const IDIOM: &str = "`call!`, without a timeout";

struct List;

enum ToList {
    Write(u64, RpcReplyPort<()>),
    Contains(u64, RpcReplyPort<bool>),
    Size(RpcReplyPort<usize>),
    Checksum(RpcReplyPort<u64>),
}

impl Actor for List {
    type Msg = ToList;
    type State = SortedList;
    type Arguments = ();

    async fn pre_start(&self, _myself: ActorRef<ToList>, (): ()) -> Result<SortedList, ActorProcessingErr> {
        Ok(SortedList::default())
    }

    async fn handle(
        &self,
        _myself: ActorRef<ToList>,
        message: ToList,
        list: &mut SortedList,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ToList::Write(value, reply) => {
                list.write(value);
                reply.send(())?;
            }
            ToList::Contains(value, reply) => reply.send(list.contains(value))?,
            ToList::Size(reply) => reply.send(list.size())?,
            ToList::Checksum(reply) => reply.send(list.checksum())?,
        }
        Ok(())
    }
}

struct Worker {
    number: u64,
    config: Config,
    list: ActorRef<ToList>,
}

struct Work(UnboundedSender<Findings>);

impl Actor for Worker {
    type Msg = Work;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _myself: ActorRef<Work>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        myself: ActorRef<Work>,
        Work(home): Work,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        let mut findings = Findings::default();
        for request in self.config.requests_of(self.number) {
            match request {
                Request::Write(value) => {
                    call!(self.list, ToList::Write, value)?;
                    findings.written();
                }
                Request::Contains(value) => findings.contained(call!(self.list, ToList::Contains, value)?),
                Request::Size => findings.size(call!(self.list, ToList::Size)?),
            }
        }
        home.send(findings).runs();
        myself.stop(None);
        Ok(())
    }
}

pub(super) async fn run(config: Config) -> Answer {
    let (list, _) = Actor::spawn(None, List, ()).await.runs();
    let (home, mut from_workers) = unbounded_channel();
    for number in 0..config.workers {
        let worker = Worker { number, config, list: list.clone() };
        let (worker, _) = Actor::spawn(None, worker, ()).await.runs();
        worker.cast(Work(home.clone())).runs();
    }
    drop(home);
    let mut findings = Vec::new();
    while let Some(of_worker) = from_workers.recv().await {
        findings.push(of_worker);
    }
    let checksum = call!(list, ToList::Checksum).runs();
    list.stop(None);
    Answer { findings: findings.into_iter().sum(), checksum }
}
