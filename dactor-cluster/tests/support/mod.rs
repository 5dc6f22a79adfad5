//! An account that keeps a journal of what happens to it, and a table of backends and engines.

#![allow(dead_code, unreachable_pub)]

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use dactor_cluster::{
    Activation, Cluster, ClusterBuilder, DeactivationReason, OldState, Persistent, TypeOptions, VirtualActor,
    VirtualContext,
};
use dactor_core::wire::Remote;
use dactor_core::{
    Actor, ActorRef, Context, Exclusive, Failure, Handler, Message, Outcome, StopReason, System,
};
use dactor_engine::{
    Clock, Engine, ErrorKind, Eviction, Member, MemberChange, Membership, Memory, NodeId, Operation,
    StorageError, Watch,
};
use dactor_sqlite::Sqlite;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

/// What the actors of one system did, and what they are to do.
#[derive(Default)]
pub struct Journal {
    notes: Mutex<Vec<String>>,
    pub activations: AtomicU32,
    /// The number of activations that will fail.
    pub failures: AtomicU32,
    /// Activations wait for a permit.
    pub activate_slowly: AtomicBool,
    pub gate: Gate,
}

pub struct Gate(pub Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

impl Journal {
    pub fn note(&self, text: impl Into<String>) {
        self.notes.lock().unwrap().push(text.into());
    }

    pub fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }

    pub fn count(&self) -> u32 {
        self.activations.load(Ordering::SeqCst)
    }
}

static JOURNALS: LazyLock<Mutex<HashMap<String, Arc<Journal>>>> = LazyLock::new(Mutex::default);

pub fn journal(namespace: &str) -> Arc<Journal> {
    JOURNALS.lock().unwrap().entry(namespace.to_owned()).or_default().clone()
}

#[derive(Serialize, Deserialize, Clone, Default, Debug, PartialEq)]
pub struct Ledger {
    pub cents: u64,
    pub log: Vec<u32>,
    /// How often each deposit was applied.
    pub seen: BTreeMap<u64, u32>,
}

pub struct Account {
    pub ledger: Persistent<Ledger>,
    journal: Arc<Journal>,
    key: String,
}

impl Remote for Account {
    const TYPE: &'static str = "Account";
}

impl Actor for Account {
    async fn on_start(&mut self, ctx: &mut Context<Self>) -> Outcome<()> {
        assert!(ctx.generation().get() > 0);
        self.journal.note(format!("{} on_start", self.key));
        Ok(())
    }

    async fn on_stop(&mut self, _: &StopReason, _: &mut Context<Self>) -> Outcome<()> {
        self.journal.note(format!("{} on_stop", self.key));
        Ok(())
    }
}

impl VirtualActor for Account {
    type State = Ledger;
    const STATE_VERSION: u32 = 3;

    async fn activate(activation: Activation<Self>) -> Outcome<Self> {
        let journal = journal(activation.address().id.namespace());
        journal.activations.fetch_add(1, Ordering::SeqCst);
        let key = activation.key().to_owned();
        journal.note(format!("{key} activate"));
        if journal.activate_slowly.load(Ordering::SeqCst) {
            journal.gate.0.acquire().await.unwrap().forget();
        }
        let fails =
            journal.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if fails.is_ok() {
            return Err(Failure::new("the account is closed"));
        }
        assert_ne!(key, "panics-in-activate", "a panic in activate");
        Ok(Self { ledger: activation.state(), journal, key })
    }

    fn upgrade(old: OldState<'_>) -> Outcome<Ledger> {
        match old.version() {
            2 => Ok(Ledger { cents: old.decode()?, ..Ledger::default() }),
            1 if old.content() == b"panic" => panic!("a panic in upgrade"),
            other => Err(Failure::new(format!("version {other} is too old"))),
        }
    }

    async fn on_deactivate(&mut self, reason: DeactivationReason, _: &mut Context<Self>) -> Outcome<()> {
        self.journal.note(format!("{} on_deactivate {reason}", self.key));
        assert_ne!(self.key, "panics-in-deactivate", "a panic in on_deactivate");
        Ok(())
    }
}

macro_rules! message {
    ($name:ident $(($($field:ty),*))? -> $reply:ty) => {
        pub struct $name $(($(pub $field),*))?;
        impl Message for $name {
            type Reply = $reply;
            type Access = Exclusive;
        }
    };
}

message!(Deposit(u64) -> u64);
message!(Balance -> u64);
message!(Append(u32) -> ());
message!(Log -> Vec<u32>);
message!(Seen -> BTreeMap<u64, u32>);
message!(Boom -> ());
message!(Once(u64) -> u64);
message!(WaitForGate -> u64);
message!(Leave -> ());
message!(Generation -> u64);
message!(Clear -> ());
message!(BoomInUpdate -> ());

/// A deposit whose handler is dropped when the asker gives up.
pub struct Abortable(pub u64);
impl Message for Abortable {
    type Reply = u64;
    type Access = Exclusive;
    const ABORT: bool = true;
}

impl Handler<Deposit> for Account {
    async fn handle(&mut self, Deposit(cents): Deposit, _: &mut Context<Self>) -> Outcome<u64> {
        self.ledger.update(|ledger| ledger.cents += cents).await?;
        Ok(self.ledger.get().cents)
    }
}

impl Handler<Abortable> for Account {
    async fn handle(&mut self, Abortable(cents): Abortable, _: &mut Context<Self>) -> Outcome<u64> {
        self.ledger.update(|ledger| ledger.cents += cents).await?;
        Ok(self.ledger.get().cents)
    }
}

impl Handler<Balance> for Account {
    async fn handle(&mut self, _: Balance, _: &mut Context<Self>) -> Outcome<u64> {
        Ok(self.ledger.get().cents)
    }
}

impl Handler<Append> for Account {
    async fn handle(&mut self, Append(number): Append, _: &mut Context<Self>) -> Outcome<()> {
        Ok(self.ledger.update(|ledger| ledger.log.push(number)).await?)
    }
}

impl Handler<Log> for Account {
    async fn handle(&mut self, _: Log, _: &mut Context<Self>) -> Outcome<Vec<u32>> {
        Ok(self.ledger.get().log.clone())
    }
}

impl Handler<Seen> for Account {
    async fn handle(&mut self, _: Seen, _: &mut Context<Self>) -> Outcome<BTreeMap<u64, u32>> {
        Ok(self.ledger.get().seen.clone())
    }
}

impl Handler<Once> for Account {
    async fn handle(&mut self, Once(id): Once, _: &mut Context<Self>) -> Outcome<u64> {
        self.ledger
            .update(|ledger| {
                ledger.cents += 1;
                *ledger.seen.entry(id).or_default() += 1;
            })
            .await?;
        Ok(self.ledger.get().cents)
    }
}

impl Handler<Boom> for Account {
    async fn handle(&mut self, _: Boom, _: &mut Context<Self>) -> Outcome<()> {
        panic!("boom")
    }
}

impl Handler<BoomInUpdate> for Account {
    async fn handle(&mut self, _: BoomInUpdate, _: &mut Context<Self>) -> Outcome<()> {
        let change = |ledger: &mut Ledger| {
            ledger.cents += 1_000_000;
            assert!(ledger.cents == 0, "a panic in update");
        };
        Ok(self.ledger.update(change).await?)
    }
}

impl Handler<WaitForGate> for Account {
    async fn handle(&mut self, _: WaitForGate, _: &mut Context<Self>) -> Outcome<u64> {
        self.journal.note("waits");
        self.journal.gate.0.acquire().await?.forget();
        Ok(self.ledger.get().cents)
    }
}

impl Handler<Leave> for Account {
    async fn handle(&mut self, _: Leave, ctx: &mut Context<Self>) -> Outcome<()> {
        ctx.deactivate();
        Ok(())
    }
}

impl Handler<Generation> for Account {
    async fn handle(&mut self, _: Generation, ctx: &mut Context<Self>) -> Outcome<u64> {
        Ok(ctx.generation().get())
    }
}

impl Handler<Clear> for Account {
    async fn handle(&mut self, _: Clear, _: &mut Context<Self>) -> Outcome<()> {
        Ok(self.ledger.clear().await?)
    }
}

/// One cell of the table.
pub struct Case {
    pub system: System,
    pub engine: Engine,
    pub journal: Arc<Journal>,
    directory: PathBuf,
    /// Each save waits for the disk.
    pub is_durable: bool,
}

impl Case {
    pub fn builder(&self) -> ClusterBuilder {
        self.builder_with(TypeOptions::default())
    }

    pub fn builder_with(&self, options: TypeOptions) -> ClusterBuilder {
        Cluster::builder(&self.system).engine(self.engine.clone()).register_with::<Account>(options)
    }

    /// A cluster with accounts, and one of them.
    pub async fn alice(&self, options: TypeOptions) -> (Cluster, ActorRef<Account>) {
        let cluster = self.builder_with(options).start().await.unwrap();
        let alice = cluster.actor::<Account>("alice").unwrap();
        (cluster, alice)
    }

    /// Another engine of this kind, on this clock.
    pub fn engine_with(&self, clock: Arc<dyn Clock>) -> Engine {
        if !self.is_durable {
            return Memory::with_clock(clock).into();
        }
        Sqlite::builder(self.directory.join("other")).clock(clock).open().unwrap().into()
    }
}

/// A membership that cannot be reached while it is told so.
pub struct Partition {
    inner: Arc<dyn Membership>,
    pub cut: AtomicBool,
}

impl Partition {
    /// The engine with such a membership.
    pub fn of(engine: Engine) -> (Arc<Self>, Engine) {
        let partition = Arc::new(Self { inner: engine.membership, cut: AtomicBool::new(false) });
        (partition.clone(), Engine { membership: partition, ..engine })
    }

    fn pass(&self, operation: Operation) -> Result<(), StorageError> {
        let cut = self.cut.load(Ordering::SeqCst);
        if cut { Err(StorageError::new(ErrorKind::Unavailable, operation)) } else { Ok(()) }
    }
}

#[async_trait]
impl Membership for Partition {
    async fn join(&self, namespace: &str, node: &NodeId, ttl: Duration) -> Result<(), StorageError> {
        self.pass(Operation::Join)?;
        self.inner.join(namespace, node, ttl).await
    }

    async fn renew(&self, node: &NodeId) -> Result<(), StorageError> {
        self.pass(Operation::Renew)?;
        self.inner.renew(node).await
    }

    async fn evict(&self, node: &NodeId, seen: u64) -> Result<Eviction, StorageError> {
        self.pass(Operation::Evict)?;
        self.inner.evict(node, seen).await
    }

    async fn leave(&self, node: &NodeId) -> Result<(), StorageError> {
        self.pass(Operation::Leave)?;
        self.inner.leave(node).await
    }

    async fn members(&self, namespace: &str) -> Result<Vec<Member>, StorageError> {
        self.pass(Operation::Members)?;
        self.inner.members(namespace).await
    }

    async fn watch_members(&self, namespace: &str) -> Result<Watch<MemberChange>, StorageError> {
        self.inner.watch_members(namespace).await
    }
}

pub const BACKENDS: [&str; 2] = ["ractor", "kameo"];

pub fn system(name: &str, backend: &str) -> System {
    let builder = System::builder(name).grace(Duration::from_secs(10));
    match backend {
        "ractor" => builder.backend(dactor_ractor::ractor()).build().unwrap(),
        _ => builder.backend(dactor_kameo::kameo()).build().unwrap(),
    }
}

/// Runs a test on each backend with each engine.
pub fn table<F: Future<Output = ()>>(test: &str, run: impl Fn(Case) -> F) {
    for backend in BACKENDS {
        for engine_name in ["memory", "sqlite"] {
            println!("{test}: {backend}, {engine_name}");
            let namespace = format!("{test}-{backend}-{engine_name}");
            let directory =
                Directory(std::env::temp_dir().join(format!("dactor-{namespace}-{}", std::process::id())));
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let engine = match engine_name {
                    "memory" => Memory::new().into(),
                    _ => Engine::from(Sqlite::open(&directory.0).unwrap()),
                };
                let (system, journal) = (system(&namespace, backend), journal(&namespace));
                let (directory, is_durable) = (directory.0.clone(), engine_name != "memory");
                let case = Case { system: system.clone(), engine, journal, directory, is_durable };
                tokio::time::timeout(Duration::from_secs(240), run(case)).await.expect("the test hangs");
                let _ = system.shutdown().await;
            });
        }
    }
}

/// Removed at the end, also of a test that fails.
struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits until a condition holds.
pub async fn until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..5000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("it never came: {what}");
}
