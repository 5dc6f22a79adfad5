//! The races of one conversation: what actors are for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::{Method, StatusCode};
use serde_json::json;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::client::Client;
use super::id_on;
use crate::AnyError;
use crate::model::random_id;
use crate::service::Path;

/// What came of requests that were sent at once.
#[derive(Debug, Clone, Default)]
pub struct Race {
    /// How many requests were sent.
    pub requests: usize,
    /// The epochs that were answered.
    pub epochs: Vec<i64>,
    /// The requests that were sent again, because the server was overloaded or not available.
    pub retries: usize,
    /// The epoch of the conversation at the end.
    pub last: i64,
    /// How long it took.
    pub time: Duration,
}

impl Race {
    /// Answers with an epoch that another request has got, too.
    pub fn duplicates(&self) -> usize {
        let mut counts = BTreeMap::new();
        self.epochs.iter().for_each(|epoch| *counts.entry(epoch).or_insert(0) += 1);
        self.epochs.len() - counts.len()
    }

    /// Changes that were answered, and that the epoch of the conversation does not count.
    pub fn lost(&self) -> usize {
        self.epochs.len().saturating_sub(usize::try_from(self.last).unwrap_or(0))
    }

    /// Whether all requests succeeded, with the epochs from 1 on.
    pub fn is_clean(&self) -> bool {
        let mut epochs = self.epochs.clone();
        epochs.sort_unstable();
        epochs.iter().copied().eq(1..=self.requests as i64) && self.last == self.requests as i64
    }
}

async fn conversation(address: &str, path: Path, members: &[&str]) -> Result<String, AnyError> {
    let id = id_on(path, &random_id());
    Client::connect(address).await?.post("/conversations", &json!({ "id": id, "members": members })).await?;
    Ok(id)
}

/// Adds members to a new conversation by requests that start together, each with its own connection.
pub async fn add_members(address: &str, path: Path, requests: usize) -> Result<Race, AnyError> {
    let id = conversation(address, path, &["did:plc:owner"]).await?;
    let barrier = Arc::new(Barrier::new(requests));
    let mut tasks = JoinSet::new();
    for number in 0..requests {
        let (id, barrier, mut client) = (id.clone(), barrier.clone(), Client::connect(address).await?);
        tasks.spawn(async move {
            let body = json!({ "members": [format!("did:plc:member{number}")], "commit": "Y29tbWl0" });
            barrier.wait().await;
            let mut retries = 0;
            let begin = Instant::now();
            loop {
                let (status, answer) = client
                    .request(Method::POST, &format!("/conversations/{id}/members"), Some(&body))
                    .await?;
                if status == StatusCode::SERVICE_UNAVAILABLE {
                    retries += 1;
                    tokio::time::sleep(Duration::from_millis(20 << retries.min(6))).await;
                    continue;
                }
                let epoch = answer["epoch"].as_i64().ok_or_else(|| format!("{status} {answer}"))?;
                return Ok::<_, AnyError>((epoch, retries, begin.elapsed()));
            }
        });
    }
    let mut race = Race { requests, ..Race::default() };
    while let Some(done) = tasks.join_next().await {
        let (epoch, retries, time) = done??;
        race.epochs.push(epoch);
        race.retries += retries;
        race.time = race.time.max(time);
    }
    let epoch = Client::connect(address).await?.get(&format!("/conversations/{id}/epoch")).await?;
    race.last = epoch["epoch"].as_i64().unwrap_or(-1);
    Ok(race)
}

/// What came of messages that were sent and read at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unread {
    /// The unread count at the end. Each message was read after it was sent.
    pub unread: i64,
    /// Messages with a number that another message has, too.
    pub duplicates: usize,
}

/// Sends and reads in many tasks: each sends a message as one member, and marks everything as read by the other.
pub async fn send_and_read(address: &str, path: Path, tasks: usize) -> Result<Unread, AnyError> {
    let id = conversation(address, path, &["did:plc:ada", "did:plc:bob"]).await?;
    let barrier = Arc::new(Barrier::new(tasks));
    let mut running = JoinSet::new();
    for _ in 0..tasks {
        let (id, barrier, mut client) = (id.clone(), barrier.clone(), Client::connect(address).await?);
        running.spawn(async move {
            barrier.wait().await;
            let message = json!({ "sender": "did:plc:ada", "ciphertext": "aGVsbG8=" });
            let sent = client.post(&format!("/conversations/{id}/messages"), &message).await?;
            client.post(&format!("/conversations/{id}/read"), &json!({ "member": "did:plc:bob" })).await?;
            Ok::<_, AnyError>(sent["seq"].as_i64().unwrap_or(-1))
        });
    }
    let mut numbers = Vec::new();
    while let Some(done) = running.join_next().await {
        numbers.push(done??);
    }
    numbers.sort_unstable();
    numbers.dedup();
    let unread = settled_unread(&mut Client::connect(address).await?, &id).await?;
    Ok(Unread { unread, duplicates: tasks - numbers.len() })
}

/// The unread count of the reader, once it no longer changes: the naive path counts in the background.
async fn settled_unread(client: &mut Client, id: &str) -> Result<i64, AnyError> {
    let (mut before, mut equal) = (-1, 0);
    while equal < 3 {
        tokio::time::sleep(Duration::from_millis(30)).await;
        let view = client.get(&format!("/conversations/{id}")).await?;
        let members = view["members"].as_array().ok_or("a view without members")?;
        let bob = members.iter().find(|member| member["member"] == "did:plc:bob");
        let unread = bob.and_then(|bob| bob["unread"].as_i64()).ok_or("a view without bob")?;
        equal = if unread == before { equal + 1 } else { 0 };
        before = unread;
    }
    Ok(before)
}
