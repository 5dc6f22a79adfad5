//! Systems, nodes and an actor for the tests of nodes.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::time::Duration;

use dactor_core::spi::Backend;
use dactor_core::testkit::{Gate, Journal};
use dactor_core::wire::{Accepts, Remote};
use dactor_core::{
    Actor, ActorRef, Context, Exclusive, Expand, ExpandHandler, Failure, Handler, Message, Outcome, Producer,
    StopReason, StreamWire, System, Terminated, Wire,
};
use dactor_remote::transport::{MemoryNetwork, Network, TcpNetwork};
use dactor_remote::{Node, NodeBuilder, RemotingConfig};
use serde::{Deserialize, Serialize};

pub(crate) type MakeBackend = fn() -> Box<dyn Backend>;

pub(crate) fn ractor() -> Box<dyn Backend> {
    Box::new(dactor_ractor::ractor())
}

pub(crate) fn kameo() -> Box<dyn Backend> {
    Box::new(dactor_kameo::kameo())
}

/// Every pair of backends.
pub(crate) const PAIRS: [[MakeBackend; 2]; 4] =
    [[ractor, ractor], [ractor, kameo], [kameo, ractor], [kameo, kameo]];

pub(crate) fn system(name: &str, backend: MakeBackend) -> System {
    System::builder(name).backend(backend()).build().unwrap()
}

/// Short times, so that tests of lost nodes do not take long.
pub(crate) fn quick() -> RemotingConfig {
    RemotingConfig::new()
        .heartbeat(Duration::from_millis(50))
        .silence(Duration::from_millis(500))
        .handshake_timeout(Duration::from_millis(500))
        .dead_after(Duration::from_millis(1500))
        .backoff(Duration::from_millis(5), Duration::from_millis(50))
        .quarantine_duration(Duration::from_secs(3600))
}

pub(crate) fn builder(system: &System) -> NodeBuilder {
    Node::builder(system).config(quick()).serve::<Account>()
}

/// Two nodes of the same namespace.
pub(crate) struct Two {
    pub(crate) here: Node,
    pub(crate) there: Node,
}

impl Two {
    pub(crate) async fn on(backends: [MakeBackend; 2], network: impl Network + Clone) -> Self {
        Self::configured(backends, network, quick()).await
    }

    pub(crate) async fn configured(
        backends: [MakeBackend; 2],
        network: impl Network + Clone,
        config: RemotingConfig,
    ) -> Self {
        let [here, there] = backends.map(|backend| system("bank", backend));
        let here = builder(&here).config(config.clone()).network(network.clone()).start().await.unwrap();
        let there = builder(&there).config(config).network(network).allow_control().start().await.unwrap();
        Self { here, there }
    }

    pub(crate) async fn tcp() -> Self {
        Self::on([ractor, kameo], TcpNetwork).await
    }

    pub(crate) async fn memory() -> Self {
        Self::on([ractor, kameo], MemoryNetwork::new()).await
    }

    /// An account of the other node, as both see it.
    pub(crate) async fn account(&self, name: &str) -> Far {
        let (journal, gate) = (Journal::new(), Gate::new());
        let account = Account { balance: 0, journal: journal.clone(), gate: gate.clone() };
        let local = self.there.system().spawn(move || account.clone()).name(name).await.unwrap();
        let path = self.there.path_of(&local).unwrap();
        let far = soon(self.here.actor_at::<Account>(&path)).await.unwrap();
        Far { far, local, journal, gate }
    }
}

pub(crate) struct Far {
    pub(crate) far: ActorRef<Account>,
    pub(crate) local: ActorRef<Account>,
    pub(crate) journal: Journal,
    pub(crate) gate: Gate,
}

/// Fails instead of hanging.
pub(crate) async fn soon<T>(future: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future.into_future()).await.expect("it takes too long")
}

pub(crate) async fn until(mut holds: impl FnMut() -> bool) {
    soon(async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

#[derive(Clone)]
pub(crate) struct Account {
    pub(crate) balance: u64,
    pub(crate) journal: Journal,
    pub(crate) gate: Gate,
}

impl Account {
    pub(crate) fn new() -> Self {
        Self { balance: 0, journal: Journal::new(), gate: Gate::new() }
    }
}

impl Actor for Account {
    async fn on_stop(&mut self, reason: &StopReason, _: &mut Context<Self>) -> Outcome<()> {
        self.journal.note(format!("on_stop {reason}"));
        Ok(())
    }
}

impl Remote for Account {
    const TYPE: &'static str = "bank.Account";

    fn accepts(messages: &mut Accepts<Self>) {
        messages
            .message::<Deposit>()
            .message::<Overdraw>()
            .message::<Hold>()
            .message::<Text>()
            .message::<Watch>()
            .expand::<Numbers>();
    }
}

macro_rules! travels {
    ($message:ty, $reply:ty, $name:literal) => {
        impl Message for $message {
            type Reply = $reply;
            type Access = Exclusive;
            const WIRE: Option<Wire<Self>> = Some(Wire::serde($name));
        }
    };
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Deposit(pub(crate) u64);
travels!(Deposit, u64, "bank.Deposit");

impl Handler<Deposit> for Account {
    async fn handle(&mut self, Deposit(more): Deposit, _: &mut Context<Self>) -> Outcome<u64> {
        self.balance += more;
        Ok(self.balance)
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Overdraw;
travels!(Overdraw, (), "bank.Overdraw");

impl Handler<Overdraw> for Account {
    async fn handle(&mut self, _: Overdraw, _: &mut Context<Self>) -> Outcome<()> {
        Err(Failure::new("not enough"))
    }
}

/// Waits at the gate.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hold;
travels!(Hold, (), "bank.Hold");

impl Handler<Hold> for Account {
    async fn handle(&mut self, _: Hold, ctx: &mut Context<Self>) -> Outcome<()> {
        let cancelled = ctx.cancelled();
        tokio::select! {
            () = self.gate.pass() => {}
            () = cancelled => self.journal.note("cancelled"),
        }
        Ok(())
    }
}

/// Comes back as it is; its length is noted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Text(pub(crate) String);
travels!(Text, Text, "bank.Text");

impl Handler<Text> for Account {
    async fn handle(&mut self, text: Text, _: &mut Context<Self>) -> Outcome<Text> {
        let what = if text.0.len() < 100 { text.0.clone() } else { format!("{} bytes", text.0.len()) };
        self.journal.note(what);
        Ok(text)
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Watch(pub(crate) ActorRef<Account>);
travels!(Watch, (), "bank.Watch");

impl Handler<Watch> for Account {
    async fn handle(&mut self, Watch(target): Watch, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.watch(&target)?;
        Ok(())
    }
}

impl Handler<Terminated> for Account {
    async fn handle(&mut self, ended: Terminated, _: &mut Context<Self>) -> Outcome<()> {
        self.journal.note(format!("terminated {}", ended.reason()));
        Ok(())
    }
}

/// The numbers below this one.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Numbers(pub(crate) u64);
impl Expand for Numbers {
    type Item = u64;
    const WIRE: Option<StreamWire<Self, (), u64>> = Some(StreamWire::serde("bank.Numbers"));
}

impl ExpandHandler<Numbers> for Account {
    async fn expand(
        &mut self,
        Numbers(below): Numbers,
        mut out: Producer<u64>,
        _: &mut Context<Self>,
    ) -> Outcome<()> {
        let journal = self.journal.clone();
        tokio::spawn(async move {
            for number in 0..below {
                if out.send(number).await.is_err() {
                    return journal.note("consumer gone");
                }
            }
            let _ = out.finish().await;
        });
        Ok(())
    }
}
