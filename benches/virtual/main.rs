//! Virtual actors against plain ones.
//!
//! - a warm ask of a virtual actor against an ask of a plain actor with a timeout of 30 s;
//! - a cold activation against the claim and the open of the engine, in memory and on SQLite;
//! - the memory of an idle activation against that of a plain actor.
//!
//! ```text
//! cargo bench --bench virtual --features kameo,sqlite
//! cargo bench --bench virtual --features kameo,sqlite -- --quick     # smoke run, figures mean nothing
//! ```

use std::convert::Infallible;
use std::time::{Duration, Instant};

use bench_harness::{Files, Options, Rounds, Scale};
use dactor::cluster::engine::{Claim, ClaimToken, Engine, EntityId, NodeId};
use dactor::cluster::{Activation, Cluster, Memory, Persistent, Sqlite, VirtualActor};
use dactor::prelude::*;
use dactor::wire::Remote;

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

#[derive(Message)]
#[message(reply = u64)]
struct Get;

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

/// Nanoseconds or bytes each.
struct Figures {
    plain_ask: f64,
    virtual_ask: f64,
    engine: f64,
    activation: f64,
    plain_bytes: f64,
    virtual_bytes: f64,
    on_disk: f64,
}

/// The time that an engine takes for the claims and opens of so many actors, one by one.
async fn claim_and_open(engine: &Engine, actors: u32) -> Duration {
    let node = NodeId::start("bench");
    engine.membership.join("other", &node, Duration::from_secs(60)).await.expect("a lease");
    let begin = Instant::now();
    for number in 0..actors {
        let (id, token) = (EntityId::new("other", "Counter", &number.to_string()), ClaimToken::random());
        let id = id.expect("an id");
        let claim = engine.directory.claim(&id, &node, token).await.expect("a claim");
        let Claim::Granted(generation) = claim else { unreachable!("it is free") };
        engine.state.open(&id, generation, token).await.expect("a state");
    }
    begin.elapsed()
}

/// A cold activation in units of claim + open, on SQLite.
async fn on_disk(system: System, actors: u32) -> f64 {
    let directory = std::env::temp_dir().join(format!("dactor-bench-virtual-{}", std::process::id()));
    let engine = Engine::from(Sqlite::open(&directory).expect("a database"));
    let cluster = Cluster::builder(&system).engine(engine.clone()).register::<Counter>();
    let cluster = cluster.start().await.expect("a cluster");
    let claimed = claim_and_open(&engine, actors).await;
    let begin = Instant::now();
    for number in 0..actors {
        let cold = cluster.actor::<Counter>(&format!("cold-{number}")).expect("a ref");
        cold.ask(Get).await.expect("a reply");
    }
    let activated = begin.elapsed();
    system.shutdown().await.expect("a shutdown");
    drop((cluster, engine));
    let _ = std::fs::remove_dir_all(directory);
    activated.as_secs_f64() / claimed.as_secs_f64()
}

async fn measure(system: System, asks: u32, actors: u32) -> Figures {
    let engine = Engine::from(Memory::new());
    let cluster = Cluster::builder(&system).engine(engine.clone()).register::<Counter>();
    let cluster = cluster.start().await.expect("a cluster");
    let plain = system.spawn(Plain(0)).await.expect("an actor");
    let warm = cluster.actor::<Counter>("warm").expect("a ref");
    let timeout = Duration::from_secs(30);
    let (mut plain_ask, mut virtual_ask) = (Duration::MAX, Duration::MAX);
    // The best of several short runs, in turns: other programs disturb long ones.
    for _ in 0..10 {
        let begin = Instant::now();
        for _ in 0..asks / 10 {
            plain.ask(Get).timeout(timeout).await.expect("a reply");
        }
        plain_ask = plain_ask.min(begin.elapsed());
        let begin = Instant::now();
        for _ in 0..asks / 10 {
            warm.ask(Get).await.expect("a reply");
        }
        virtual_ask = virtual_ask.min(begin.elapsed());
    }
    let claimed = claim_and_open(&engine, actors).await;
    // The engine keeps rows for these ids, too: claimed before, so that their memory does not count.
    let before = NodeId::start("before");
    engine.membership.join(system.name(), &before, timeout).await.expect("a lease");
    for number in 0..actors {
        let id = EntityId::new(system.name(), "Counter", &format!("cold-{number}")).expect("an id");
        let token = ClaimToken::random();
        let claim = engine.directory.claim(&id, &before, token).await.expect("a claim");
        let Claim::Granted(generation) = claim else { unreachable!("it is free") };
        engine.state.open(&id, generation, token).await.expect("a state");
        engine.directory.release(&id, generation).await.expect("it is free again");
    }
    counting_alloc::start_counting();
    let begin = Instant::now();
    for number in 0..actors {
        let cold = cluster.actor::<Counter>(&format!("cold-{number}")).expect("a ref");
        cold.ask(Get).await.expect("a reply");
    }
    let activated = begin.elapsed();
    let virtual_bytes = counting_alloc::stop_counting().live_bytes as f64 / f64::from(actors);
    counting_alloc::start_counting();
    for _ in 0..actors {
        let actor = system.spawn(Plain(0)).await.expect("an actor");
        actor.ask(Get).timeout(timeout).await.expect("a reply");
    }
    let plain_bytes = counting_alloc::stop_counting().live_bytes as f64 / f64::from(actors);
    let each = |time: Duration, count: u32| time.as_nanos() as f64 / f64::from(count);
    system.shutdown().await.expect("a shutdown");
    Figures {
        plain_ask: each(plain_ask, asks / 10),
        virtual_ask: each(virtual_ask, asks / 10),
        engine: each(claimed, actors),
        activation: each(activated, actors),
        plain_bytes,
        virtual_bytes,
        on_disk: 0.0,
    }
}

fn main() {
    let options = Options::from_args(std::env::args().skip(1), &[]).unwrap_or_else(|message| {
        eprintln!("{message}");
        std::process::exit(2);
    });
    let (asks, actors) = if options.scale == Scale::Full { (200_000, 10_000) } else { (1000, 100) };
    let run = |subject: usize| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let system = |name| {
            let builder = System::builder(name);
            let chosen = if subject == 0 {
                builder.backend(dactor::ractor())
            } else {
                builder.backend(dactor::kameo())
            };
            chosen.build().expect("a valid name")
        };
        let on_disk = runtime.block_on(on_disk(system("disk"), actors / 50));
        let figures = runtime.block_on(measure(system("virtual"), asks, actors));
        Ok(Figures { on_disk, ..figures })
    };
    let Ok::<_, Infallible>(rounds) = Rounds::interleaved(2, options.rounds, run);
    let mut json = Vec::new();
    println!(
        "backend   plain ask  warm ask  ratio   claim+open  activation  ratio  on SQLite  plain bytes  idle bytes"
    );
    for (subject, backend) in ["ractor", "kameo"].into_iter().enumerate() {
        let of = |figure: fn(&Figures) -> f64| rounds.median(|costs| costs.get(subject).map(figure));
        let (plain, warm) = (of(|f| f.plain_ask), of(|f| f.virtual_ask));
        let (engine, cold) = (of(|f| f.engine), of(|f| f.activation));
        let (bytes, idle) = (of(|f| f.plain_bytes), of(|f| f.virtual_bytes));
        let ask = of(|f| f.virtual_ask / f.plain_ask);
        let disk = of(|f| f.on_disk);
        let activation = of(|f| f.activation / f.engine);
        println!(
            "{backend:<8} {plain:>8.0} ns {warm:>6.0} ns  {ask:>5.2}  {engine:>8.0} ns {cold:>8.0} ns {activation:>6.2} {disk:>10.2}  {bytes:>11.0} {idle:>11.0}"
        );
        json.push(format!(
            "{{\"backend\":\"{backend}\",\"plain_ask_ns\":{plain:.0},\"warm_ask_ns\":{warm:.0},\"ask_ratio\":{ask:.3},\
             \"claim_open_ns\":{engine:.0},\"activation_ns\":{cold:.0},\"activation_ratio\":{activation:.3},\"sqlite_activation_ratio\":{disk:.3},\
             \"plain_bytes\":{bytes:.0},\"idle_bytes\":{idle:.0}}}"
        ));
    }
    if options.is_full_run() {
        let files = Files::of(env!("CARGO_MANIFEST_DIR"), "virtual");
        files.write_json(&format!("[{}]\n", json.join(",\n"))).expect("the file can be written");
    }
}
