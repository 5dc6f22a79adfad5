//! What an idle activation costs, counted exactly: a test of its own, because it counts all allocations of the process.

use std::time::Duration;

use dactor_cluster::{Activation, Cluster, Persistent, VirtualActor};
use dactor_core::wire::Remote;
use dactor_core::{Actor, Context, Exclusive, Handler, Message, Outcome, System};
use dactor_engine::{Claim, ClaimToken, Engine, EntityId, Memory, NodeId};

#[global_allocator]
static ALLOCATOR: counting_alloc::Counting = counting_alloc::Counting;

struct Counter {
    state: Persistent<u64>,
}

impl Actor for Counter {}
impl Remote for Counter {
    const TYPE: &'static str = "Counter";
}
impl VirtualActor for Counter {
    type State = u64;

    async fn activate(activation: Activation<Self>) -> Outcome<Self> {
        Ok(Self { state: activation.state() })
    }
}

struct Plain(u64);
impl Actor for Plain {}

struct Get;
impl Message for Get {
    type Reply = u64;
    type Access = Exclusive;
}

impl Handler<Get> for Counter {
    async fn handle(&mut self, _: Get, _: &mut Context<Self>) -> Outcome<u64> {
        Ok(*self.state.get())
    }
}

impl Handler<Get> for Plain {
    async fn handle(&mut self, _: Get, _: &mut Context<Self>) -> Outcome<u64> {
        Ok(self.0)
    }
}

/// As many as fill hash tables to the same degree for both kinds of actors.
const ACTORS: usize = 4000;
/// An idle activation costs about 830 bytes more than a plain actor with a name.
const BUDGET: isize = 900;

fn key(number: usize) -> String {
    format!("key-{number:04}")
}

/// The engine keeps rows for the ids: made before, so that they do not count.
async fn make_rows(engine: &Engine, namespace: &str) {
    let node = NodeId::start("before");
    engine.membership.join(namespace, &node, Duration::from_secs(60)).await.unwrap();
    for number in 0..ACTORS {
        let (id, token) = (EntityId::new(namespace, "Counter", &key(number)).unwrap(), ClaimToken::random());
        let Claim::Granted(generation) = engine.directory.claim(&id, &node, token).await.unwrap() else {
            panic!("it is free");
        };
        engine.state.open(&id, generation, token).await.unwrap();
        engine.directory.release(&id, generation).await.unwrap();
    }
}

/// Bytes and allocations of one activation over those of a plain actor.
async fn over_plain(system: System) -> (isize, isize) {
    let engine = Engine::from(Memory::new());
    let cluster = Cluster::builder(&system).engine(engine.clone()).register::<Counter>();
    let cluster = cluster.start().await.unwrap();
    make_rows(&engine, system.name()).await;
    let each = |count: counting_alloc::Count| {
        (count.live_bytes / ACTORS as isize, count.allocations as isize / ACTORS as isize)
    };
    // The keys are made before.
    let keys: Vec<_> = (0..ACTORS).map(key).collect();
    counting_alloc::start_counting();
    for key in &keys {
        cluster.actor::<Counter>(key).unwrap().ask(Get).await.unwrap();
    }
    let active = each(counting_alloc::stop_counting());
    counting_alloc::start_counting();
    for key in &keys {
        let actor = system.spawn(Plain(0)).name(key).await.unwrap();
        actor.ask(Get).timeout(Duration::from_secs(30)).await.unwrap();
    }
    let plain = each(counting_alloc::stop_counting());
    assert_eq!(cluster.active(), ACTORS);
    system.shutdown().await.unwrap();
    println!("{}: {active:?} (bytes, allocations), a plain actor {plain:?}", system.name());
    (active.0 - plain.0, active.1 - plain.1)
}

#[test]
fn an_idle_activation_is_small() {
    for (name, builder) in [
        ("ractor", System::builder("ractor").backend(dactor_ractor::ractor())),
        ("kameo", System::builder("kameo").backend(dactor_kameo::kameo())),
    ] {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (bytes, allocations) = runtime.block_on(over_plain(builder.build().unwrap()));
        println!("{name}: {bytes} bytes and {allocations} allocations over a plain actor");
        assert!((1..=BUDGET).contains(&bytes), "{name}: {bytes} bytes over a plain actor");
        assert!(allocations <= 30, "{name}: {allocations} allocations over those of a plain spawn and ask");
    }
}
