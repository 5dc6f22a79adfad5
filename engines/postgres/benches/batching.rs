//! Batched saves against one statement per save, with the same settings: `cargo bench -p dactor-postgres`.
//!
//! Rounds are interleaved, and the ratio is the median of the rounds' ratios, because the speed of a disk drifts. `--quick`
//! runs one short round and checks no target. One statement per save has the connection of the batches to itself, so it is
//! also measured on eight connections (`pool`), as an application without batches would do it: the targets are for that.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dactor_engine::{Claim, ClaimToken, Engine, EntityId, Etag, Generation, NodeId};
use dactor_postgres::Postgres;

#[path = "../tests/common/server.rs"]
#[allow(dead_code, unreachable_pub)]
mod server;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Concurrent savers, and the ratio to reach.
const TARGETS: [(usize, f64); 3] = [(1, 0.8), (64, 4.0), (1000, 8.0)];

/// Connections of the application without batches.
const CONNECTIONS: usize = 8;

struct Scale {
    rows: usize,
    rounds: usize,
    length: Duration,
}

fn main() -> ExitCode {
    if server::skipped() {
        return ExitCode::SUCCESS;
    }
    let quick = std::env::args().any(|argument| argument == "--quick");
    let scale = if quick {
        Scale { rows: 1500, rounds: 1, length: Duration::from_millis(200) }
    } else {
        Scale { rows: 20_000, rounds: 5, length: Duration::from_millis(1200) }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let result = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(bench(&scale)));
    match result {
        Ok(reached) if reached || quick => ExitCode::SUCCESS,
        Ok(_) => {
            eprintln!("a target was missed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn bench(scale: &Scale) -> Outcome<bool> {
    let states = fill(&open(512).await?, scale.rows).await?;
    let batched = Savers { engines: vec![open(512).await?], states: states.clone() };
    let mut engines = Vec::new();
    for _ in 0..CONNECTIONS {
        engines.push(open(1).await?);
    }
    let single = Savers { engines, states };
    let mut reached = true;
    println!("savers  one per statement, pool of {CONNECTIONS}     batched   ratio  target   (medians)");
    for (savers, target) in TARGETS {
        let (mut one, mut many, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..scale.rounds {
            let rates = (
                single.saves_per_second(savers, scale.length).await?,
                batched.saves_per_second(savers, scale.length).await?,
            );
            one.push(rates.0);
            many.push(rates.1);
            ratios.push(rates.1 / rates.0);
        }
        let (one, many, ratio) = (median(one), median(many), median(ratios));
        reached &= ratio >= target;
        println!("{savers:>6}  {one:>28.0}/s  {many:>9.0}/s  {ratio:>5.2}x  {target:>5.1}x");
    }
    drop_schema().await?;
    Ok(reached)
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn schema() -> String {
    format!("bench_{}", std::process::id())
}

async fn open(batch: usize) -> Outcome<Engine> {
    Ok(Postgres::builder(server::shared()).schema(&schema()).batch(batch).open().await?.into())
}

async fn drop_schema() -> Outcome<()> {
    let (client, connection) = tokio_postgres::connect(server::shared(), tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    client.batch_execute(&format!("DROP SCHEMA {} CASCADE", schema())).await?;
    Ok(())
}

/// A database with many states, of which some are saved.
struct Savers {
    /// Each saves on a connection of its own.
    engines: Vec<Engine>,
    states: Vec<(EntityId, Generation)>,
}

impl Savers {
    async fn saves_per_second(&self, savers: usize, length: Duration) -> Outcome<f64> {
        let (ended, saves) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..savers {
            // Spread over the table: neighbours would share pages.
            let (id, generation) = self.states[number * (self.states.len() / savers)].clone();
            let engine = self.engines[number % self.engines.len()].clone();
            let (ended, saves) = (ended.clone(), saves.clone());
            tasks.spawn(async move {
                let mut read = engine.state.read(&id).await?.and_then(|stored| stored.etag);
                while !ended.load(Ordering::Relaxed) {
                    let new = Etag::random();
                    engine.state.save(&id, generation, read, new, vec![7; 512].into()).await?;
                    read = Some(new);
                    saves.fetch_add(1, Ordering::Relaxed);
                }
                Outcome::Ok(())
            });
        }
        let start = Instant::now();
        tokio::time::sleep(length).await;
        let rate = saves.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
        ended.store(true, Ordering::Relaxed);
        for result in tasks.join_all().await {
            result?;
        }
        Ok(rate)
    }
}

/// Makes states, each with 512 bytes.
async fn fill(engine: &Engine, rows: usize) -> Outcome<Vec<(EntityId, Generation)>> {
    let node = NodeId::start("bench");
    engine.membership.join("bench", &node, Duration::from_secs(600)).await?;
    let mut states = Vec::with_capacity(rows);
    for first in (0..rows).step_by(500) {
        let mut tasks = tokio::task::JoinSet::new();
        for number in first..rows.min(first + 500) {
            let (engine, node) = (engine.clone(), node.clone());
            tasks.spawn(async move {
                let (id, token) =
                    (EntityId::new("bench", "Saver", &format!("{number:06}"))?, ClaimToken::random());
                let Claim::Granted(generation) = engine.directory.claim(&id, &node, token).await? else {
                    return Err("not granted".into());
                };
                let opened = engine.state.open(&id, generation, token).await?;
                let body = vec![0; 512].into();
                engine.state.save(&id, generation, opened.etag, Etag::random(), body).await?;
                Outcome::Ok((id, generation))
            });
        }
        for state in tasks.join_all().await {
            states.push(state?);
        }
    }
    states.sort();
    Ok(states)
}
