//! Saves flat out, to measure several processes on one database: `load DIRECTORY SECONDS SAVERS [--marks]`.
//!
//! Prints one line: saves per second, and the longest lease renewal in milliseconds. It starts to count when a file `go`
//! is in the directory, so that several processes count the same time. With `--marks`, each save writes a line to
//! `/dev/null` when it is sent and when it is acknowledged, for a system call trace.

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dactor_engine::{Claim, ClaimToken, Engine, EntityId, Etag, Membership, NodeId};
use dactor_sqlite::Sqlite;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, seconds, savers, rest @ ..] = &arguments[..] else {
        return Err("usage: load DIRECTORY SECONDS SAVERS [--marks]".into());
    };
    let (directory, seconds, savers) = (PathBuf::from(directory), seconds.parse::<f64>()?, savers.parse()?);
    let marks = if rest.iter().any(|argument| argument == "--marks") {
        Some(Arc::new(OpenOptions::new().write(true).open("/dev/null")?))
    } else {
        None
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(run(directory, Duration::from_secs_f64(seconds), savers, marks))
}

async fn run(directory: PathBuf, length: Duration, savers: usize, marks: Option<Arc<File>>) -> Outcome<()> {
    let sqlite = Sqlite::open(&directory)?;
    let engine = Engine::from(sqlite.clone());
    let node = NodeId::start("load");
    engine.membership.join("load", &node, Duration::from_secs(10)).await?;
    let counting = Arc::new(AtomicBool::new(false));
    let ended = Arc::new(AtomicBool::new(false));
    let renewals = renew(sqlite, node.clone(), counting.clone(), ended.clone());
    let saves = Arc::new(AtomicU64::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..savers {
        let (engine, node, marks) = (engine.clone(), node.clone(), marks.clone());
        let (saves, counting, ended) = (saves.clone(), counting.clone(), ended.clone());
        tasks.spawn(async move {
            let id = EntityId::new("load", "Saver", &format!("{}-{number}", node.incarnation()))?;
            let token = ClaimToken::random();
            let Claim::Granted(generation) = engine.directory.claim(&id, &node, token).await? else {
                return Err("not granted".into());
            };
            let mut read = engine.state.open(&id, generation, token).await?.etag;
            while !ended.load(Ordering::Relaxed) {
                let new = Etag::random();
                mark(marks.as_deref(), "sent", number)?;
                engine.state.save(&id, generation, read, new, vec![7; 512].into()).await?;
                mark(marks.as_deref(), "acked", number)?;
                read = Some(new);
                if counting.load(Ordering::Relaxed) {
                    saves.fetch_add(1, Ordering::Relaxed);
                }
            }
            Outcome::Ok(())
        });
    }
    while !directory.join("go").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let start = Instant::now();
    counting.store(true, Ordering::Relaxed);
    tokio::time::sleep(length).await;
    counting.store(false, Ordering::Relaxed);
    let rate = saves.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
    // The others still count: keep up the load until they have ended as well.
    tokio::time::sleep(Duration::from_millis(500)).await;
    ended.store(true, Ordering::Relaxed);
    for result in tasks.join_all().await {
        result?;
    }
    let longest = renewals.join().map_err(|_| "the renewing thread panicked")?;
    engine.membership.leave(&node).await?;
    println!("{rate:.0} {:.1}", longest.as_secs_f64() * 1e3);
    Ok(())
}

fn mark(marks: Option<&File>, what: &str, saver: usize) -> std::io::Result<()> {
    match marks {
        Some(mut file) => file.write_all(format!("{what} {saver}\n").as_bytes()),
        None => Ok(()),
    }
}

/// Renews the lease on a thread of its own, and returns the longest renewal.
fn renew(
    sqlite: Sqlite,
    node: NodeId,
    counting: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
) -> std::thread::JoinHandle<Duration> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let mut longest = Duration::ZERO;
        while !ended.load(Ordering::Relaxed) {
            let start = Instant::now();
            runtime.block_on(sqlite.renew(&node)).expect("the lease is renewed");
            if counting.load(Ordering::Relaxed) {
                longest = longest.max(start.elapsed());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        longest
    })
}
