//! Requests to a server that is killed and restarted meanwhile, and the check that nothing acknowledged is lost.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path as FilePath;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::json;
use tokio::task::JoinSet;

use super::client::Client;
use crate::AnyError;
use crate::database::Database;
use crate::model::random_id;

const CONVERSATIONS: usize = 8;
const CLIENTS: usize = 32;

/// Sends requests for some time, and appends a line for each that was acknowledged: `<conversation> epoch <number>` or
/// `<conversation> seq <number>`. A server that does not answer is tried again.
pub async fn run(server: &str, acks: &FilePath, time: Duration) -> Result<(), AnyError> {
    let file = OpenOptions::new().create(true).append(true).open(acks)?;
    let file = Arc::new(Mutex::new(file));
    let end = Instant::now() + time;
    let mut tasks = JoinSet::new();
    for number in 0..CLIENTS {
        let (server, file) = (server.to_owned(), file.clone());
        tasks.spawn(async move {
            let mut acknowledged = 0_u64;
            while Instant::now() < end {
                // A broken connection: the server was killed.
                if let Err(_error) = client(&server, &file, number, end, &mut acknowledged).await {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            acknowledged
        });
    }
    let acknowledged: u64 = tasks.join_all().await.into_iter().sum();
    println!("{acknowledged} requests were acknowledged");
    Ok(())
}

async fn client(
    server: &str,
    file: &Mutex<File>,
    number: usize,
    end: Instant,
    acknowledged: &mut u64,
) -> Result<(), AnyError> {
    let mut client = Client::connect(server).await?;
    let id = format!("actor-crash-{}", number % CONVERSATIONS);
    let new = json!({ "id": id, "members": ["did:plc:ada"] });
    // Another client may have created it.
    client.request(Method::POST, "/conversations", Some(&new)).await?;
    for turn in 0_u64.. {
        if Instant::now() >= end {
            break;
        }
        let (what, address, body) = if turn % 4 == 0 {
            let member = format!("did:plc:{}", random_id());
            ("epoch", "members", json!({ "members": [member], "commit": "Y29tbWl0" }))
        } else {
            ("seq", "messages", json!({ "sender": "did:plc:ada", "ciphertext": "aGVsbG8=" }))
        };
        let address = format!("/conversations/{id}/{address}");
        let (status, answer) = client.request(Method::POST, &address, Some(&body)).await?;
        if status.is_success() {
            let mut file = file.lock().map_err(|_| "a client panicked")?;
            writeln!(file, "{id} {what} {}", answer[what])?;
            *acknowledged += 1;
        } else if !status.is_server_error() {
            return Err(format!("{status} {answer}").into());
        }
    }
    Ok(())
}

/// What a check found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checked {
    /// Acknowledged requests, all of which are there.
    pub acknowledged: usize,
    /// Epochs and messages in the tables.
    pub stored: usize,
}

/// Checks the tables against a file of [acknowledged requests](run): each is there, and epochs and numbers have neither gaps
/// nor duplicates.
pub async fn check(database: &dyn Database, acks: &FilePath) -> Result<Checked, AnyError> {
    let mut found: BTreeMap<(String, &str), Vec<i64>> = BTreeMap::new();
    let queries = [
        (
            "epoch",
            "SELECT conversation_id, epoch AS number FROM messages WHERE kind = 'commit'
            AND conversation_id LIKE 'actor-crash-%'",
        ),
        (
            "seq",
            "SELECT conversation_id, seq AS number FROM messages WHERE kind = 'app'
            AND conversation_id LIKE 'actor-crash-%'",
        ),
    ];
    for (what, sql) in queries {
        for row in database.query(sql, Vec::new()).await? {
            let id = crate::statements::text(&row, "conversation_id");
            found.entry((id, what)).or_default().push(crate::statements::int(&row, "number"));
        }
    }
    let mut checked = Checked::default();
    for ((id, what), numbers) in &mut found {
        numbers.sort_unstable();
        if !numbers.iter().copied().eq(1..=numbers.len() as i64) {
            return Err(format!("{id}: the numbers of {what} have gaps or duplicates: {numbers:?}").into());
        }
        checked.stored += numbers.len();
    }
    let text = std::fs::read_to_string(acks)?;
    // The last line may have been cut by the end of the client.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for line in whole.lines() {
        let mut words = line.split(' ');
        let (Some(id), Some(what), Some(number)) = (words.next(), words.next(), words.next()) else {
            return Err(format!("not a line of acknowledgements: {line}").into());
        };
        let what = if what == "epoch" { "epoch" } else { "seq" };
        let numbers = found.get(&(id.to_owned(), what)).map_or(&[][..], Vec::as_slice);
        if numbers.binary_search(&number.parse()?).is_err() {
            return Err(format!("acknowledged and lost: {line}").into());
        }
        checked.acknowledged += 1;
    }
    Ok(checked)
}
