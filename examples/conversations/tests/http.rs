//! Requests over HTTP: what works, what is refused, and that the server goes on.

mod support;

use std::time::Duration;

use conversations::load::client::Client;
use conversations::serve::{Limits, raise_file_limit};
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use support::{Data, Running};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PATHS: [&str; 2] = ["actor", "naive"];

async fn view(client: &mut Client, id: &str) -> Value {
    client.get(&format!("/conversations/{id}")).await.unwrap()
}

#[tokio::test]
async fn the_life_of_a_conversation() {
    let data = Data::sqlite();
    let server = Running::start(data.settings(), Limits::default()).await;
    let mut client = Client::connect(&server.address).await.unwrap();
    for path in PATHS {
        let id = format!("{path}-life");
        let at = |rest: &str| format!("/conversations/{id}{rest}");
        let new = json!({ "id": id, "members": ["ada", "bob"] });
        assert_eq!(client.post("/conversations", &new).await.unwrap()["epoch"], 0);
        let package = |hash: &str| json!([{ "member": "eve", "hash": hash }]);
        let eve = json!({ "members": ["eve"], "commit": "AAAA", "welcome": "AQID", "key_packages": package(path.strip_prefix('n').map_or("a1", |_| "b2")) });
        assert_eq!(client.post(&at("/members"), &eve).await.unwrap()["epoch"], 1);
        for seq in 1..=12 {
            let sent = client.post(&at("/messages"), &json!({ "sender": "ada", "ciphertext": "aGk=" })).await;
            assert_eq!(sent.unwrap(), json!({ "seq": seq, "epoch": 1 }));
        }
        assert_eq!(client.expect(Method::DELETE, &at("/members/eve"), None).await.unwrap()["epoch"], 2);
        // The key package was used, and the epoch stays.
        let again = client.request(Method::POST, &at("/members"), Some(&eve)).await.unwrap();
        assert_eq!((again.0, &again.1["error"]), (StatusCode::CONFLICT, &json!("key_package_used")));
        assert_eq!(client.get(&at("/epoch")).await.unwrap()["epoch"], 2);
        if path == "actor" {
            let seen = view(&mut client, &id).await;
            let unread = |name: &str| {
                let members = seen["members"].as_array().unwrap();
                members.iter().find(|member| member["member"] == name).unwrap()["unread"].clone()
            };
            assert_eq!((unread("ada"), unread("bob")), (json!(0), json!(12)));
        }
        client.post(&at("/unread"), &json!({ "sender": "ada" })).await.unwrap();
        client.post(&at("/read"), &json!({ "member": "bob" })).await.unwrap();
        let seen = view(&mut client, &id).await;
        assert_eq!(seen["members"][2]["left"], true);
        assert_eq!(seen["messages"].as_array().unwrap().len(), 13);
    }
    server.stop().await;
}

/// Counts that were only in memory are in the table after an orderly end, and epochs go on.
#[tokio::test]
async fn a_restart_keeps_everything() {
    let data = Data::sqlite();
    for round in 0..3 {
        let server = Running::start(data.settings(), Limits::default()).await;
        let mut client = Client::connect(&server.address).await.unwrap();
        if round == 0 {
            let new = json!({ "id": "actor-kept", "members": ["ada", "bob"] });
            client.post("/conversations", &new).await.unwrap();
        }
        for _ in 0..7 {
            let message = json!({ "sender": "ada", "ciphertext": "aGk=" });
            client.post("/conversations/actor-kept/messages", &message).await.unwrap();
        }
        let new = json!({ "members": [format!("member{round}")] });
        let added = client.post("/conversations/actor-kept/members", &new).await.unwrap();
        assert_eq!(added["epoch"], round + 1);
        let seen = view(&mut client, "actor-kept").await;
        assert_eq!(seen["members"][1]["unread"], 7 * (round + 1), "{seen}");
        server.stop().await;
    }
}

/// The rollout: naive first, then actors, and back.
#[tokio::test]
async fn the_share_can_change() {
    let data = Data::sqlite();
    for (round, share) in [0, 100, 0, 100].into_iter().enumerate() {
        let mut settings = data.settings();
        settings.share = share;
        let server = Running::start(settings, Limits::default()).await;
        let mut client = Client::connect(&server.address).await.unwrap();
        if round == 0 {
            client.post("/conversations", &json!({ "id": "moved", "members": ["ada"] })).await.unwrap();
        }
        let new = json!({ "members": [format!("member{round}")], "commit": "AAAA" });
        let added = client.post("/conversations/moved/members", &new).await.unwrap();
        assert_eq!(added["epoch"], round + 1);
        let sent = json!({ "sender": "ada", "ciphertext": "aGk=" });
        let sent = client.post("/conversations/moved/messages", &sent).await.unwrap();
        assert_eq!(sent["seq"], round + 1);
        let path = view(&mut client, "moved").await["path"].clone();
        assert_eq!(path, if share == 0 { "naive" } else { "actors" });
        server.stop().await;
    }
}

/// Requests that cannot succeed, with the status of their answers.
fn bad_requests(path: &str, id: &str) -> Vec<(Method, String, String, u16)> {
    let at = |rest: &str| format!("/conversations/{id}{rest}");
    let unknown = |rest: &str| format!("/conversations/{path}-unknown{rest}");
    let long = "A".repeat(400_000);
    let member = json!({ "members": ["eve"] }).to_string();
    let message = |sender: &str, text: &str| json!({ "sender": sender, "ciphertext": text }).to_string();
    let many: Vec<_> = (0..101).map(|number| format!("m{number}")).collect();
    vec![
        (Method::GET, unknown(""), String::new(), 404),
        (Method::GET, unknown("/epoch"), String::new(), 404),
        (Method::POST, unknown("/members"), member.clone(), 404),
        (Method::POST, unknown("/messages"), message("ada", "aGk="), 404),
        (Method::DELETE, unknown("/members/ada"), String::new(), 404),
        (Method::POST, unknown("/read"), json!({ "member": "ada" }).to_string(), 404),
        (Method::POST, at("/members"), json!({ "members": [] }).to_string(), 400),
        (Method::POST, at("/members"), json!({ "members": ["a", "a"] }).to_string(), 400),
        (Method::POST, at("/members"), json!({ "members": [""] }).to_string(), 400),
        (Method::POST, at("/members"), json!({ "members": ["a\u{0}b"] }).to_string(), 400),
        (Method::POST, at("/members"), json!({ "members": ["ada"] }).to_string(), 409),
        (Method::POST, at("/members"), json!({ "members": many }).to_string(), 413),
        (Method::POST, at("/members"), json!({ "members": "eve" }).to_string(), 422),
        (Method::POST, at("/members"), json!({ "members": [1] }).to_string(), 422),
        (Method::POST, at("/members"), json!({ "members": ["eve"], "other": 1 }).to_string(), 422),
        (Method::POST, at("/members"), json!({ "members": ["eve"], "commit": "%%" }).to_string(), 400),
        (Method::POST, at("/members"), json!({ "members": ["eve"], "welcome": "A" }).to_string(), 400),
        (Method::POST, at("/members"), "{".into(), 400),
        (Method::POST, at("/members"), String::new(), 400),
        (Method::POST, at("/members"), "[".repeat(100_000), 422),
        (Method::DELETE, at("/members/nobody"), String::new(), 404),
        (Method::DELETE, at("/members/ada"), "nonsense".into(), 400),
        (Method::POST, at("/messages"), message("eve", "aGk="), 404),
        (Method::POST, at("/messages"), message("ada", "not base64!"), 400),
        (Method::POST, at("/messages"), message("ada", &long), 413),
        (Method::POST, at("/messages"), "A".repeat(2 << 20), 413),
        (Method::POST, at("/read"), json!({ "member": "eve" }).to_string(), 404),
        (Method::PUT, at("/members"), member.clone(), 405),
        (Method::GET, "/nowhere".into(), String::new(), 404),
        (Method::GET, "/conversations/..%2f..%2fetc".into(), String::new(), 400),
        (Method::GET, format!("/conversations/{}", "x".repeat(65)), String::new(), 400),
        (Method::GET, "/conversations/%ff".into(), String::new(), 400),
        (Method::POST, "/conversations".into(), json!({ "id": id, "members": [] }).to_string(), 409),
        (Method::POST, "/conversations".into(), json!({ "id": "a b", "members": [] }).to_string(), 400),
    ]
}

#[tokio::test]
async fn bad_requests_have_a_reason() {
    let data = Data::sqlite();
    let server = Running::start(data.settings(), Limits::default()).await;
    let mut client = Client::connect(&server.address).await.unwrap();
    for path in PATHS {
        let id = format!("{path}-bad");
        client.post("/conversations", &json!({ "id": id, "members": ["ada"] })).await.unwrap();
        for (method, address, body, expected) in bad_requests(path, &id) {
            // A body that is too large ends the connection.
            let mut client = Client::connect(&server.address).await.unwrap();
            let what = format!("{method} {address} {}", body.chars().take(80).collect::<String>());
            let (status, answer) = client.raw(method, &address, body).await.expect(&what);
            let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
            assert_eq!(status.as_u16(), expected, "{what}: {answer}");
            let reason = answer["reason"].as_str().unwrap_or_default();
            assert!(!reason.is_empty(), "{what}: no reason in {answer}");
        }
        let epoch = client.get(&format!("/conversations/{id}/epoch")).await.unwrap();
        assert_eq!(epoch["epoch"], 0, "nothing was changed");
    }
    server.stop().await;
}

#[tokio::test]
async fn too_many_connections() {
    raise_file_limit();
    let data = Data::sqlite();
    let limits = Limits { connections: 500, head: Duration::from_secs(3), ..Limits::default() };
    let server = Running::start(data.settings(), limits).await;
    // Both ends of a connection are in this process: as many as it has files for.
    let mut idle = Vec::new();
    while idle.len() < 10_000 {
        match TcpStream::connect(&server.address).await {
            Ok(stream) => idle.push(stream),
            Err(_) => break,
        }
    }
    let mut refused = 0;
    for mut stream in idle.drain(idle.len().saturating_sub(100)..) {
        let mut answer = String::new();
        let read = tokio::time::timeout(Duration::from_secs(5), stream.read_to_string(&mut answer)).await;
        // One that found room is closed without an answer, because it sends nothing.
        if matches!(read, Ok(Ok(_))) && !answer.is_empty() {
            assert!(answer.starts_with("HTTP/1.1 429 "), "{answer}");
            assert!(answer.contains("too many connections"), "{answer}");
            refused += 1;
        }
    }
    println!("{} connections, {refused} of the last 100 were refused", idle.len() + 100);
    assert!(refused > 0);
    // Connections that send nothing are closed after three seconds, and there is room again.
    let mut served = false;
    for _ in 0..100 {
        if let Ok(mut stream) = TcpStream::connect(&server.address).await {
            let request = b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(request).await;
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer).await;
            served = answer.starts_with("HTTP/1.1 200 ");
        }
        if served {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(served, "the server does not answer any more");
    drop(idle);
    server.stop().await;
}

#[tokio::test]
async fn overload_is_503_with_retry_after() {
    let data = Data::sqlite();
    let mut settings = data.settings();
    settings.mailbox = 2;
    let server = Running::start(settings, Limits::default()).await;
    let mut client = Client::connect(&server.address).await.unwrap();
    client.post("/conversations", &json!({ "id": "actor-full", "members": ["ada"] })).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..60 {
        let address = server.address.clone();
        tasks.spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let body = json!({ "members": [format!("m{number}")] }).to_string();
            let request = format!(
                "POST /conversations/actor-full/members HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
                 content-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        });
    }
    let answers = tasks.join_all().await;
    let done = answers.iter().filter(|answer| answer.starts_with("HTTP/1.1 200 ")).count();
    let shed: Vec<_> = answers.iter().filter(|answer| answer.starts_with("HTTP/1.1 503 ")).collect();
    assert_eq!(done + shed.len(), 60, "{answers:?}");
    assert!(done > 0 && !shed.is_empty(), "{done} done, {} shed", shed.len());
    assert!(shed.iter().all(|answer| answer.contains("retry-after: ")), "{shed:?}");
    // What was shed was not done.
    let epoch = client.get("/conversations/actor-full/epoch").await.unwrap()["epoch"].as_u64();
    assert_eq!(epoch, Some(done as u64));
    server.stop().await;
}
