//! Requests per second and latencies over many conversations, and the memory of a conversation.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hyper::{Method, StatusCode};
use serde_json::json;
use tokio::task::JoinSet;

use super::client::Client;
use super::report::{Rate, Report};
use super::server::Server;
use super::{PATHS, id_on, progress};
use crate::AnyError;
use crate::model::random_id;
use crate::service::Path;

/// Connections that send at once.
const CLIENTS: usize = 64;

pub(super) async fn measure(server: &Server, quick: bool, report: &mut Report) -> Result<(), AnyError> {
    let sizes: &[usize] = if quick { &[1, 20] } else { &[1, 100, 10_000] };
    let (rounds, time) = if quick { (1, Duration::from_millis(300)) } else { (3, Duration::from_secs(3)) };
    for &size in sizes {
        let bar = progress(2 + 2 * rounds, &format!("{size} conversations"));
        let mut sets = Vec::new();
        for path in PATHS {
            let before = server.metric("process_resident_memory_bytes").await?;
            let run = &random_id()[..12];
            let ids = (0..size).map(|number| id_on(path, &format!("{run}-{number}")));
            let ids: Arc<[String]> = ids.collect();
            create(server.address(), &ids).await?;
            let after = server.metric("process_resident_memory_bytes").await?;
            if path == Path::Actors && size == sizes[sizes.len() - 1] {
                report.memory = Some((size, (after - before) / size as f64));
            }
            sets.push((path, ids));
            bar.inc(1);
        }
        // By turns: the disk is not equally fast all the time.
        for _ in 0..rounds {
            for (path, ids) in &sets {
                server.settle().await?;
                report.rate(size, *path, send(server.address(), ids, time).await?);
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
    }
    Ok(())
}

async fn create(address: &str, ids: &Arc<[String]>) -> Result<(), AnyError> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..CLIENTS {
        let (ids, next, mut client) = (ids.clone(), next.clone(), Client::connect(address).await?);
        tasks.spawn(async move {
            while let Some(id) = ids.get(next.fetch_add(1, Ordering::Relaxed)) {
                let members: Vec<_> = (0..10).map(|number| format!("did:plc:member{number}")).collect();
                client.post("/conversations", &json!({ "id": id, "members": members })).await?;
            }
            Ok::<_, AnyError>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

/// Sends messages to the conversations in turn, on all connections, for some time.
async fn send(address: &str, ids: &Arc<[String]>, time: Duration) -> Result<Rate, AnyError> {
    let next = Arc::new(AtomicUsize::new(0));
    let begin = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..CLIENTS {
        let (ids, next, mut client) = (ids.clone(), next.clone(), Client::connect(address).await?);
        tasks.spawn(async move {
            let (mut times, mut numbers, mut refused) = (Vec::new(), Vec::new(), 0);
            let body = json!({ "sender": "did:plc:member0", "ciphertext": "aGVsbG8=" });
            while begin.elapsed() < time {
                let at = next.fetch_add(1, Ordering::Relaxed) % ids.len();
                let sent = Instant::now();
                let address = format!("/conversations/{}/messages", ids[at]);
                let (status, answer) = client.request(Method::POST, &address, Some(&body)).await?;
                match status {
                    StatusCode::CREATED => {
                        times.push(sent.elapsed());
                        numbers.push((at, answer["seq"].as_i64().unwrap_or(-1)));
                    }
                    StatusCode::SERVICE_UNAVAILABLE => refused += 1,
                    _ => return Err(format!("{status} {answer}").into()),
                }
            }
            Ok::<_, AnyError>((times, numbers, refused))
        });
    }
    let (mut times, mut numbers, mut refused) = (Vec::new(), Vec::new(), 0);
    while let Some(done) = tasks.join_next().await {
        let (some_times, some_numbers, some_refused) = done??;
        times.extend(some_times);
        numbers.extend(some_numbers);
        refused += some_refused;
    }
    let took = begin.elapsed();
    let answered = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    times.sort_unstable();
    let duplicates = answered - numbers.len();
    Ok(Rate { per_second: answered as f64 / took.as_secs_f64(), times, duplicates, refused })
}
