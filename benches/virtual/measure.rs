//! The measurements.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dactor::cluster::Cluster;
use dactor::cluster::engine::{Claim, ClaimToken, Engine, EntityId, Generation, NodeId};
use dactor::prelude::*;

use crate::actors::{Counter, Get, Plain, Save, Saver};
use crate::engines::{EngineKind, Scratch};

const TIMEOUT: Duration = Duration::from_secs(30);

/// The two backends.
pub(crate) const BACKENDS: [&str; 2] = ["ractor", "kameo"];

pub(crate) fn system(backend: usize, name: &str) -> System {
    let builder = System::builder(name);
    let chosen =
        if backend == 0 { builder.backend(dactor::ractor()) } else { builder.backend(dactor::kameo()) };
    chosen.build().expect("a valid name")
}

async fn cluster(system: &System, engine: &Engine, cap: usize) -> Cluster {
    let cluster = Cluster::builder(system).engine(engine.clone()).max_active(cap);
    cluster.register::<Counter>().register::<Saver>().start().await.expect("a cluster")
}

pub(crate) fn one_thread<T>(run: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(run)
}

pub(crate) fn two_threads<T>(run: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().expect("a runtime").block_on(run)
}

fn each(time: Duration, count: u32) -> f64 {
    time.as_nanos() as f64 / f64::from(count)
}

/// A warm ask in nanoseconds.
pub(crate) struct Warm {
    pub(crate) plain: f64,
    pub(crate) warm: f64,
}

pub(crate) async fn warm(backend: usize, asks: u32) -> Warm {
    let system = system(backend, "warm");
    let cluster = cluster(&system, &(crate::ENGINES[0].open)(Scratch::new().path()), usize::MAX).await;
    let plain = system.spawn(Plain(0)).await.expect("an actor");
    let warm = cluster.actor::<Counter>("warm").expect("a ref");
    let mut best = Warm { plain: f64::MAX, warm: f64::MAX };
    // The best of several short runs, in turns: other programs disturb long ones.
    for _ in 0..10 {
        let begin = Instant::now();
        for _ in 0..asks / 10 {
            plain.ask(Get).timeout(TIMEOUT).await.expect("a reply");
        }
        best.plain = best.plain.min(each(begin.elapsed(), asks / 10));
        let begin = Instant::now();
        for _ in 0..asks / 10 {
            warm.ask(Get).await.expect("a reply");
        }
        best.warm = best.warm.min(each(begin.elapsed(), asks / 10));
    }
    system.shutdown().await.expect("a shutdown");
    best
}

/// A cold activation, and what it cannot do without, in nanoseconds.
pub(crate) struct Cold {
    /// The engine's own claim and open.
    pub(crate) engine: f64,
    /// The spawn of a plain actor with a name, and its first ask.
    pub(crate) spawn: f64,
    pub(crate) activation: f64,
}

/// An id, which the others share their namespace and type with, as in a cluster.
fn counter(namespace: &str) -> EntityId {
    EntityId::new(namespace, "Counter", "first").expect("an id")
}

/// The time that an engine takes for the claims and opens of so many actors, one by one.
async fn claim_and_open(engine: &Engine, actors: u32) -> Duration {
    let node = NodeId::start("bench");
    engine.membership.join("other", &node, TIMEOUT).await.expect("a lease");
    let first = counter("other");
    let begin = Instant::now();
    for number in 0..actors {
        claim(engine, &node, &first, &format!("cold-{number}")).await;
    }
    begin.elapsed()
}

async fn claim(engine: &Engine, node: &NodeId, first: &EntityId, key: &str) -> (EntityId, Generation) {
    let (id, token) = (first.with_key(key).expect("an id"), ClaimToken::random());
    let claim = engine.directory.claim(&id, node, token).await.expect("a claim");
    let Claim::Granted(generation) = claim else { unreachable!("it is free") };
    engine.state.open(&id, generation, token).await.expect("a state");
    (id, generation)
}

/// Leaves a row of this id behind.
async fn claim_and_release(engine: &Engine, node: &NodeId, first: &EntityId, key: &str) {
    let (id, generation) = claim(engine, node, first, key).await;
    engine.directory.release(&id, generation).await.expect("it is free again");
}

pub(crate) async fn cold(backend: usize, kind: &EngineKind, actors: u32) -> Cold {
    let scratch = Scratch::new();
    let (engine, system) = ((kind.open)(scratch.path()), system(backend, "cold"));
    let cluster = cluster(&system, &engine, usize::MAX).await;
    let claimed = claim_and_open(&engine, actors).await;
    let begin = Instant::now();
    for number in 0..actors {
        let actor = system.spawn(Plain(0)).name(format!("cold-{number}")).await.expect("an actor");
        actor.ask(Get).timeout(TIMEOUT).await.expect("a reply");
    }
    let spawned = begin.elapsed();
    let begin = Instant::now();
    for number in 0..actors {
        let cold = cluster.actor::<Counter>(&format!("cold-{number}")).expect("a ref");
        cold.ask(Get).await.expect("a reply");
    }
    let activated = begin.elapsed();
    system.shutdown().await.expect("a shutdown");
    Cold { engine: each(claimed, actors), spawn: each(spawned, actors), activation: each(activated, actors) }
}

/// Bytes of the heap.
pub(crate) struct Idle {
    pub(crate) plain: f64,
    pub(crate) activation: f64,
}

pub(crate) async fn idle(backend: usize, actors: u32) -> Idle {
    let (engine, system) = ((crate::ENGINES[0].open)(Scratch::new().path()), system(backend, "idle"));
    let cluster = cluster(&system, &engine, usize::MAX).await;
    // The engine keeps rows for these ids: claimed before, so that their memory does not count.
    let before = NodeId::start("before");
    engine.membership.join(system.name(), &before, TIMEOUT).await.expect("a lease");
    let first = counter(system.name());
    for number in 0..actors {
        claim_and_release(&engine, &before, &first, &format!("idle-{number}")).await;
    }
    counting_alloc::start_counting();
    for number in 0..actors {
        let actor = cluster.actor::<Counter>(&format!("idle-{number}")).expect("a ref");
        actor.ask(Get).await.expect("a reply");
    }
    let activations = counting_alloc::stop_counting().live_bytes as f64;
    counting_alloc::start_counting();
    for number in 0..actors {
        let actor = system.spawn(Plain(0)).name(format!("idle-{number}")).await.expect("an actor");
        actor.ask(Get).timeout(TIMEOUT).await.expect("a reply");
    }
    let plain = counting_alloc::stop_counting().live_bytes as f64;
    system.shutdown().await.expect("a shutdown");
    Idle { plain: plain / f64::from(actors), activation: activations / f64::from(actors) }
}

/// Saves per second of so many actors, each of which saves one after the other.
pub(crate) async fn saves(backend: usize, engine: Engine, actors: usize, length: Duration) -> f64 {
    let system = system(backend, "saves");
    let cluster = cluster(&system, &engine, usize::MAX).await;
    let savers: Vec<_> =
        (0..actors).map(|number| cluster.actor::<Saver>(&format!("{number:06}")).expect("a ref")).collect();
    // Active before the time runs.
    let first: Vec<_> = savers.iter().map(|saver| saver.ask(Save).enqueue().expect("sent")).collect();
    for saved in first {
        saved.await.expect("saved");
    }
    let (ended, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut tasks = tokio::task::JoinSet::new();
    for saver in savers {
        let (ended, count) = (ended.clone(), count.clone());
        tasks.spawn(async move {
            while !ended.load(Ordering::Relaxed) {
                saver.ask(Save).await.expect("saved");
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let begin = Instant::now();
    tokio::time::sleep(length).await;
    let rate = count.load(Ordering::Relaxed) as f64 / begin.elapsed().as_secs_f64();
    ended.store(true, Ordering::Relaxed);
    tasks.join_all().await;
    system.shutdown().await.expect("a shutdown");
    rate
}

/// Many more ids than may be active.
pub(crate) struct Touched {
    pub(crate) seconds: f64,
    /// The highest use of the heap, and what of it are the rows of the engine, in bytes.
    pub(crate) peak: f64,
    pub(crate) rows: f64,
}

pub(crate) async fn touched(backend: usize, kind: &EngineKind, ids: u32, cap: usize) -> Touched {
    let rows = {
        let scratch = Scratch::new();
        let engine = (kind.open)(scratch.path());
        let node = NodeId::start("bench");
        engine.membership.join("touched", &node, TIMEOUT).await.expect("a lease");
        let first = counter("touched");
        counting_alloc::start_counting();
        for number in 0..if kind.is_slow { 0 } else { ids } {
            claim_and_release(&engine, &node, &first, &number.to_string()).await;
        }
        counting_alloc::stop_counting().live_bytes as f64
    };
    let scratch = Scratch::new();
    let (engine, system) = ((kind.open)(scratch.path()), system(backend, "touched"));
    let cluster = cluster(&system, &engine, cap).await;
    let next = Arc::new(AtomicU64::new(0));
    counting_alloc::start_counting();
    let begin = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let (cluster, next) = (cluster.clone(), next.clone());
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= u64::from(ids) {
                    return;
                }
                let actor = cluster.actor::<Counter>(&number.to_string()).expect("a ref");
                actor.ask(Get).await.expect("a reply");
            }
        });
    }
    tasks.join_all().await;
    let seconds = begin.elapsed().as_secs_f64();
    let peak = counting_alloc::stop_counting().peak_bytes as f64;
    system.shutdown().await.expect("a shutdown");
    Touched { seconds, peak, rows }
}
