//! The settings, and what the writer does when a transaction fails.

mod common;

use std::time::{Duration, Instant};

use bytes::Bytes;
use common::{Scratch, entity, join, own};
use dactor_engine::{Engine, ErrorKind, Etag, MemberState, Membership, NodeId, Reaper, StateStore};
use dactor_sqlite::Sqlite;
use rusqlite::Connection;

#[tokio::test]
async fn settings_are_in_effect() {
    let scratch = Scratch::new("settings");
    let sqlite = Sqlite::open(scratch.path()).unwrap();
    for _ in 0..2 {
        let state = sqlite.settings().await.unwrap();
        assert_eq!(state.journal_mode, "wal");
        assert_eq!(state.synchronous, 2, "FULL");
        assert_eq!(state.wal_autocheckpoint, 4000);
        assert_eq!(state.page_size, 4096);
        assert_eq!(state.user_version, 1);
        let leases = sqlite.lease_settings().await.unwrap();
        assert_eq!((&*leases.journal_mode, leases.synchronous), ("wal", 1), "NORMAL");
        assert_ne!(leases.application_id, state.application_id);
        // A join is synced, and a renewal is not.
        let engine = Engine::from(sqlite.clone());
        let node = join(&engine).await;
        engine.membership.renew(&node).await.unwrap();
    }
}

#[tokio::test]
async fn a_full_disk_fails_only_what_does_not_fit() {
    let scratch = Scratch::new("full");
    let sqlite = Sqlite::builder(scratch.path()).max_pages(400).open().unwrap();
    let engine = Engine::from(sqlite.clone());
    let node = join(&engine).await;
    let mut owned = Vec::new();
    for number in 0..40 {
        let id = entity(&format!("account-{number:02}"));
        let (generation, _) = own(&engine, &node, &id).await;
        let etag = Etag::random();
        engine.state.save(&id, generation, None, etag, "before".into()).await.unwrap();
        owned.push((id, generation, etag));
    }
    for round in 0..5 {
        let mut saves = tokio::task::JoinSet::new();
        for (number, (id, generation, etag)) in owned.iter().cloned().enumerate() {
            let engine = engine.clone();
            // Some of them need more pages than there are.
            let large = number % 8 == 3;
            let body = if large { Bytes::from(vec![1; 2 << 20]) } else { format!("round {round}").into() };
            saves.spawn(async move {
                let new = Etag::random();
                (number, large, new, engine.state.save(&id, generation, Some(etag), new, body).await)
            });
        }
        for (number, large, new, result) in saves.join_all().await {
            match result {
                Ok(()) if !large => owned[number].2 = new,
                Err(error) if large => {
                    assert_eq!((error.kind(), error.is_transient()), (ErrorKind::Io, true), "{error}");
                    assert!(error.to_string().contains("full"), "{error}");
                }
                other => panic!("save {number}, large: {large}: {other:?}"),
            }
        }
        for (number, (id, _, etag)) in owned.iter().enumerate() {
            let stored = sqlite.read(id).await.unwrap().unwrap();
            assert_eq!(stored.etag, Some(*etag), "round {round}, {id}");
            let body = if number % 8 == 3 { "before".to_owned() } else { format!("round {round}") };
            assert_eq!(stored.body, Some(body.into()), "round {round}, {id}");
        }
    }
}

#[tokio::test]
async fn a_locked_database_is_unavailable_for_a_while() {
    let scratch = Scratch::new("busy");
    let builder = Sqlite::builder(scratch.path()).busy_limit(Duration::from_millis(100));
    let engine = Engine::from(builder.open().unwrap());
    let node = join(&engine).await;
    let id = entity("alice");
    let (generation, _) = own(&engine, &node, &id).await;
    let other = Connection::open(scratch.join("state.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = Instant::now();
    let error = engine.state.save(&id, generation, None, Etag::random(), "x".into()).await.unwrap_err();
    assert_eq!((error.kind(), error.is_transient()), (ErrorKind::Unavailable, true), "{error}");
    assert!(!error.may_have_been_applied());
    assert!(start.elapsed() >= Duration::from_millis(100));
    // Reading and renewing go on.
    assert_eq!(engine.state.read(&id).await.unwrap().unwrap().etag, None);
    engine.membership.renew(&node).await.unwrap();
    other.execute_batch("ROLLBACK").unwrap();
    engine.state.save(&id, generation, None, Etag::random(), "x".into()).await.unwrap();
}

#[tokio::test]
async fn a_held_gate_delays_writes_and_not_renewals() {
    let scratch = Scratch::new("gate");
    let builder = Sqlite::builder(scratch.path()).timeout(Duration::from_millis(200));
    let engine = Engine::from(builder.open().unwrap());
    let node = join(&engine).await;
    let id = entity("alice");
    let (generation, _) = own(&engine, &node, &id).await;
    let gate = std::fs::File::open(scratch.join("gate")).unwrap();
    gate.lock().unwrap();
    let etag = Etag::random();
    let error = engine.state.save(&id, generation, None, etag, "x".into()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownOutcome, "{error}");
    engine.membership.renew(&node).await.unwrap();
    assert_eq!(engine.state.read(&id).await.unwrap().unwrap().etag, None);
    drop(gate);
    // The first copy may be applied now, or not: the repetition settles it.
    let write = dactor_engine::settle::Write {
        id: id.clone(),
        generation,
        read: None,
        new: etag,
        body: Some("x".into()),
    };
    dactor_engine::settle::write(&*engine.state, &write, &dactor_engine::settle::Repetition::default())
        .await
        .or_else(|error| if error.kind() == ErrorKind::Conflict { Ok(()) } else { Err(error) })
        .unwrap();
    assert_eq!(engine.state.read(&id).await.unwrap().unwrap().etag, Some(etag));
}

#[tokio::test]
async fn too_large_states_are_refused() {
    let scratch = Scratch::new("large");
    let engine = Engine::from(Sqlite::builder(scratch.path()).largest_state(1000).open().unwrap());
    let node = join(&engine).await;
    let id = entity("alice");
    let (generation, _) = own(&engine, &node, &id).await;
    let save = async |length| {
        engine.state.save(&id, generation, None, Etag::random(), Bytes::from(vec![0; length])).await
    };
    let error = save(1001).await.unwrap_err();
    assert_eq!((error.kind(), error.is_transient()), (ErrorKind::TooLarge, false), "{error}");
    save(1000).await.unwrap();
}

#[tokio::test]
async fn a_dropped_engine_is_gone_at_once() {
    let scratch = Scratch::new("gone");
    let survivor = Engine::from(Sqlite::open(scratch.path()).unwrap());
    let crashed = Engine::from(Sqlite::open(scratch.path()).unwrap());
    let node = join(&crashed).await;
    let state = async || survivor.membership.members("bank").await.unwrap()[0].state;
    assert_eq!(state().await, MemberState::Alive);
    let mut reaper = Reaper::new();
    assert!(reaper.reap(&*survivor.membership, "bank").await.unwrap().is_empty());
    drop(crashed);
    // The last thread of the engine may still be ending.
    assert_eq!(state().await, MemberState::Gone);
    assert_eq!(reaper.reap(&*survivor.membership, "bank").await.unwrap(), [node]);
    assert_eq!(state().await, MemberState::Dead);
}

#[tokio::test]
async fn another_boot_is_gone_and_another_time_namespace_is_refused() {
    let scratch = Scratch::new("machine");
    let sqlite = Sqlite::open(scratch.path()).unwrap();
    let engine = Engine::from(sqlite.clone());
    let node = join(&engine).await;
    let leases = Connection::open(scratch.join("lease.db")).unwrap();
    leases.execute_batch("UPDATE members SET time_namespace = 'time:[1]'").unwrap();
    let stranger = NodeId::start("localhost:2");
    let error = sqlite.join("bank", &stranger, Duration::from_secs(10)).await.unwrap_err();
    assert_eq!((error.kind(), error.is_transient()), (ErrorKind::Unavailable, false), "{error}");
    assert!(error.to_string().contains("time namespace"), "{error}");
    leases.execute_batch("UPDATE members SET boot = 'another'").unwrap();
    assert_eq!(sqlite.members("bank").await.unwrap()[0].state, MemberState::Gone);
    assert_eq!(Reaper::new().reap(&sqlite, "bank").await.unwrap(), [node]);
    sqlite.join("bank", &stranger, Duration::from_secs(10)).await.unwrap();
}

#[tokio::test]
async fn tombstones_are_pruned_unless_they_own_something() {
    let scratch = Scratch::new("pruned");
    let engine = Engine::from(Sqlite::open(scratch.path()).unwrap());
    let owner = join(&engine).await;
    own(&engine, &owner, &entity("alice")).await;
    engine.membership.leave(&owner).await.unwrap();
    for _ in 0..70 {
        let node = join(&engine).await;
        engine.membership.leave(&node).await.unwrap();
    }
    let last = join(&engine).await;
    let members = engine.membership.members("bank").await.unwrap();
    assert!(members.len() < 70, "{} members", members.len());
    assert!(members.iter().any(|member| member.node == owner), "the tombstone of an owner");
    let (generation, _) = own(&engine, &last, &entity("alice")).await;
    assert_eq!(generation.get(), 2);
}

#[tokio::test]
async fn reads_do_not_wait_for_the_writer() {
    let scratch = Scratch::new("reads");
    let sqlite = Sqlite::open(scratch.path()).unwrap();
    let gate = std::fs::File::open(scratch.join("gate")).unwrap();
    gate.lock().unwrap();
    assert_eq!(sqlite.read(&entity("alice")).await.unwrap(), None);
    assert!(sqlite.list("bank", "Account", None, 10).await.unwrap().keys.is_empty());
}
