//! A database that fails: 503 with a reason, and recovery by itself.

mod support;

use std::time::{Duration, Instant};

use conversations::load::client::Client;
use conversations::model::random_id;
use conversations::serve::Limits;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use support::{Data, Running, postgres};

const PATHS: [&str; 2] = ["actor-failing", "naive-failing"];

async fn add(client: &mut Client, id: &str, member: &str) -> (StatusCode, Value) {
    let new = json!({ "members": [member], "commit": "AAAA" });
    client.request(Method::POST, &format!("/conversations/{id}/members"), Some(&new)).await.unwrap()
}

async fn start(data: &Data) -> (Running, Client) {
    let server = Running::start(data.settings(), Limits::default()).await;
    let mut client = Client::connect(&server.address).await.unwrap();
    for id in PATHS {
        client.post("/conversations", &json!({ "id": id, "members": ["ada"] })).await.unwrap();
        assert_eq!(add(&mut client, id, "first").await.1["epoch"], 1);
    }
    (server, client)
}

async fn is_unavailable(client: &mut Client, id: &str) {
    let (status, answer) = add(client, id, &format!("meanwhile-{}", random_id())).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{id}: {answer}");
    assert!(!answer["reason"].as_str().unwrap().is_empty(), "{answer}");
}

/// After the failure, requests succeed again, and the epochs are complete: each commit that is stored has its own.
async fn recovers(client: &mut Client, id: &str) {
    let begin = Instant::now();
    loop {
        let (status, answer) = add(client, id, &format!("after-{}", random_id())).await;
        if status.is_success() {
            break;
        }
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{id}: {answer}");
        assert!(begin.elapsed() < Duration::from_secs(60), "{id} does not recover: {answer}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let view = client.get(&format!("/conversations/{id}")).await.unwrap();
    let commits =
        view["messages"].as_array().unwrap().iter().map(|message| message["epoch"].as_i64().unwrap());
    let commits: Vec<i64> = commits.collect();
    let expected: Vec<i64> = (1..=view["epoch"].as_i64().unwrap()).rev().collect();
    assert_eq!(commits, expected, "{id}");
}

#[tokio::test]
async fn sqlite_is_locked() {
    let data = Data::sqlite();
    let (server, mut client) = start(&data).await;
    let other = rusqlite::Connection::open(data.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for id in PATHS {
        is_unavailable(&mut client, id).await;
    }
    // Reads from memory go on.
    assert_eq!(client.get("/conversations/actor-failing/epoch").await.unwrap()["epoch"], 1);
    other.execute_batch("ROLLBACK").unwrap();
    for id in PATHS {
        recovers(&mut client, id).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_is_away() {
    let Some(database) = postgres() else { return };
    let (server, mut client) = start(&Data::postgres(&database)).await;
    for mode in ["fast", "immediate"] {
        database.stop(mode);
        for id in PATHS {
            is_unavailable(&mut client, id).await;
        }
        database.restart(&[]);
        for id in PATHS {
            recovers(&mut client, id).await;
        }
    }
    server.stop().await;
}
