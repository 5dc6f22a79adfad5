//! A commit that fails because a file cannot grow, which is an I/O error and not a full disk. The test starts this test binary
//! again, in a shell that limits the size of its files.
#![cfg(target_os = "linux")]

mod common;

use std::process::Command;

use common::{Scratch, entity, join, own};
use dactor_engine::{Engine, ErrorKind, Etag};
use dactor_sqlite::Sqlite;

const DIRECTORY: &str = "DACTOR_SQLITE_TEST_DIRECTORY";

/// Not a test: what the child runs. The log of the database may grow to 512 KiB.
#[tokio::test]
async fn child() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let engine = Engine::from(Sqlite::open(directory).unwrap());
    let node = join(&engine).await;
    let mut owned = Vec::new();
    for number in 0..16 {
        let id = entity(&format!("account-{number:02}"));
        let (generation, opened) = own(&engine, &node, &id).await;
        owned.push((id, generation, opened.etag, None));
    }
    let (mut saved, mut failed) = (0, 0);
    for round in 0..40_u32 {
        let mut saves = tokio::task::JoinSet::new();
        for (number, (id, generation, read, _)) in owned.iter().enumerate() {
            let (engine, id, generation, read) = (engine.clone(), id.clone(), *generation, *read);
            let body = bytes::Bytes::from(format!("{round}-{number}-").repeat(400));
            saves.spawn(async move {
                let new = Etag::random();
                let outcome = engine.state.save(&id, generation, read, new, body.clone()).await;
                (number, new, body, outcome)
            });
        }
        for (number, new, body, outcome) in saves.join_all().await {
            let (id, generation, read, stored) = &mut owned[number];
            match outcome {
                Ok(()) => {
                    saved += 1;
                    (*read, *stored) = (Some(new), Some(body));
                    continue;
                }
                Err(error) => {
                    failed += 1;
                    let kind = error.kind();
                    assert!(matches!(kind, ErrorKind::UnknownOutcome | ErrorKind::Io), "{error:?}");
                    assert!(error.is_transient(), "{error}");
                }
            }
            // Not acknowledged: it is there whole, or not at all. A fenced repetition would settle it.
            let found = engine.state.read(id).await.unwrap().unwrap();
            if found.etag == Some(new) {
                (*read, *stored) = (Some(new), Some(body));
            }
            assert_eq!((found.etag, &found.body), (*read, &*stored), "round {round}, {generation}");
        }
    }
    assert!(saved >= 16, "{saved} saves were acknowledged");
    assert!(failed > 0, "no commit failed: the limit has no effect");
    // Reading and renewing go on.
    engine.membership.renew(&node).await.unwrap();
    println!("{saved} saved, {failed} failed");
}

#[tokio::test]
async fn a_commit_that_cannot_be_written_acknowledges_nothing() {
    let scratch = Scratch::new("io-error");
    // Made without the limit.
    drop(Sqlite::open(scratch.path()).unwrap());
    let test = std::env::current_exe().unwrap();
    // The signal is ignored, so that a write fails instead of killing the process. The unit is 1024 bytes.
    let mut command = Command::new("bash");
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 512; exec \"$0\" --exact child --nocapture --test-threads=1"]);
    let output = command.arg(&test).env(DIRECTORY, scratch.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("failed"), "{text}");
    // What the child has left is a whole database.
    let engine = Engine::from(Sqlite::open(scratch.path()).unwrap());
    let node = join(&engine).await;
    let id = entity("another");
    let (generation, opened) = own(&engine, &node, &id).await;
    engine.state.save(&id, generation, opened.etag, Etag::random(), "x".into()).await.unwrap();
    let state = rusqlite::Connection::open(scratch.join("state.db")).unwrap();
    let check: String = state.query_row("PRAGMA integrity_check", (), |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}
