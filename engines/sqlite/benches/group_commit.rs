//! Group commit against one transaction per save, with the same settings: `cargo bench -p dactor-sqlite`.
//!
//! Rounds are interleaved, because the speed of a disk drifts. `--quick` runs one short round and checks no target.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dactor_engine::{Claim, ClaimToken, Engine, EntityId, Etag, Generation, NodeId};
use dactor_sqlite::Sqlite;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Concurrent savers, and the ratio to reach.
const TARGETS: [(usize, f64); 3] = [(1, 0.8), (64, 8.0), (1000, 10.0)];

struct Scale {
    rows: usize,
    rounds: usize,
    length: Duration,
}

fn main() -> ExitCode {
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
    let grouped = Database::create("grouped", 256, scale).await?;
    let single = Database::create("single", 1, scale).await?;
    let mut reached = true;
    println!("savers  one per transaction    group commit   ratio  target");
    for (savers, target) in TARGETS {
        let mut rates = (Vec::new(), Vec::new());
        for _ in 0..scale.rounds {
            rates.0.push(single.saves_per_second(savers, scale.length).await?);
            rates.1.push(grouped.saves_per_second(savers, scale.length).await?);
        }
        let (one, many) = (median(rates.0), median(rates.1));
        let ratio = many / one;
        reached &= ratio >= target;
        println!("{savers:>6}  {one:>19.0}/s  {many:>12.0}/s  {ratio:>5.2}x  {target:>5.1}x");
    }
    Ok(reached)
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// A database with many states, of which some are saved.
struct Database {
    directory: PathBuf,
    engine: Engine,
    states: Vec<(EntityId, Generation)>,
}

impl Database {
    async fn create(name: &str, batch: usize, scale: &Scale) -> Outcome<Self> {
        let directory =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{name}-{}", std::process::id()));
        let states = {
            let engine = Engine::from(Sqlite::open(&directory)?);
            fill(&engine, scale.rows).await?
        };
        let engine = Engine::from(Sqlite::builder(&directory).batch(batch).open()?);
        Ok(Self { directory, engine, states })
    }

    async fn saves_per_second(&self, savers: usize, length: Duration) -> Outcome<f64> {
        let (ended, saves) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..savers {
            // Spread over the table: neighbours would share pages.
            let (id, generation) = self.states[number * (self.states.len() / savers)].clone();
            let (engine, ended, saves) = (self.engine.clone(), ended.clone(), saves.clone());
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

impl Drop for Database {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Makes states in batches, each with 512 bytes.
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
