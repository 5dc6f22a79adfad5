//! A server that is away, restarts, refuses, or is not what it should be: each is a typed error, and the engine recovers by
//! itself.

mod common;

use std::time::{Duration, Instant};

use common::server::{Server, skipped};
use common::{Schema, connect, entity, join, own};
use dactor_engine::settle::{self, Repetition, Write};
use dactor_engine::{Engine, ErrorKind, Etag, Membership, StateStore, StorageError};
use dactor_postgres::{OpenError, Postgres};

/// Repeats until it succeeds, which it does when the server is back. Every error on the way must be transient.
async fn recovers<T>(what: &str, operation: impl AsyncFn() -> Result<T, StorageError>) -> T {
    let start = Instant::now();
    loop {
        match operation().await {
            Ok(value) => return value,
            Err(error) => {
                assert!(error.is_transient(), "{what}: {error:?}");
                assert!(start.elapsed() < Duration::from_secs(30), "{what} does not recover: {error:?}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

#[track_caller]
fn refused(result: Result<Postgres, OpenError>) -> OpenError {
    match result {
        Ok(_) => panic!("the database was opened"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn opening() {
    if skipped() {
        return;
    }
    let server = Server::start();
    let (before, rest) = server.url.split_once("dactor:").unwrap();
    let (password, address) = rest.split_once('@').unwrap();
    let wrong = format!("{before}dactor:wrong@{address}");
    let error = refused(Postgres::open(&wrong).await);
    assert!(matches!(error, OpenError::Refused(_)) && !error.is_transient(), "{error:?}");
    assert!(error.to_string().contains("28P01") && !error.to_string().contains("wrong@"), "{error}");
    let missing = server.url.replace("/postgres", "/missing");
    let error = refused(Postgres::open(&missing).await);
    assert!(matches!(error, OpenError::Refused(_)) && error.to_string().contains("3D000"), "{error:?}");
    let closed = "postgres://dactor@127.0.0.1:1/postgres";
    let error = refused(Postgres::open(closed).await);
    assert!(matches!(error, OpenError::Unreachable(_)) && error.is_transient(), "{error:?}");
    for text in ["postgres://[", "host=x bogus=1"] {
        assert!(matches!(refused(Postgres::open(text).await), OpenError::Config(_)), "{text}");
    }
    let error = refused(Postgres::builder(&server.url).schema("").open().await);
    assert!(matches!(error, OpenError::Config(_)), "{error:?}");
    let error = refused(Postgres::open(&format!("{}?sslmode=require", server.url)).await);
    assert!(matches!(error, OpenError::Tls(_)), "{error:?}");
    // An address that never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("postgres://dactor:{password}@{}/postgres", silent.local_addr().unwrap());
    let limit = Duration::from_millis(300);
    let error = refused(Postgres::builder(&silent).connect_timeout(limit).open().await);
    assert!(error.is_transient(), "{error:?}");
    let client = connect(&server.url).await;
    let create = "CREATE DATABASE ascii ENCODING SQL_ASCII LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0";
    client.batch_execute(create).await.unwrap();
    let ascii = server.url.replace("/postgres", "/ascii");
    let error = refused(Postgres::open(&ascii).await);
    assert!(matches!(&error, OpenError::Encoding(found) if found == "SQL_ASCII"), "{error:?}");
}

#[tokio::test]
async fn versions_of_the_schema() {
    if skipped() {
        return;
    }
    let schema = Schema::new();
    schema.open().await;
    for (version, is_newer) in [(99, true), (0, false), (-1, false)] {
        schema.execute(&format!("UPDATE @.dactor_version SET version = {version}")).await;
        let error = refused(schema.builder().open().await);
        match error {
            OpenError::NewerVersion { found: 99, known: 1, .. } if is_newer => {}
            OpenError::ForeignSchema(_) if !is_newer => {}
            other => panic!("{version}: {other:?}"),
        }
    }
    schema.execute("DROP TABLE @.dactor_version").await;
    assert!(matches!(refused(schema.builder().open().await), OpenError::ForeignSchema(_)));
    let foreign = Schema::new();
    foreign.execute("CREATE SCHEMA @; CREATE TABLE @.state (letters text)").await;
    assert!(matches!(refused(foreign.builder().open().await), OpenError::ForeignSchema(_)));
    foreign.execute("SELECT letters FROM @.state").await;
}

#[tokio::test]
async fn openings_at_once_create_one_schema() {
    if skipped() {
        return;
    }
    let schema = Schema::new();
    let mut openings = tokio::task::JoinSet::new();
    for _ in 0..8 {
        openings.spawn(schema.builder().open());
    }
    for opened in openings.join_all().await {
        opened.unwrap();
    }
}

#[tokio::test]
async fn a_role_that_may_create_nothing() {
    if skipped() {
        return;
    }
    let server = Server::start();
    let schema = Schema::on(&server.url);
    schema.open().await;
    schema
        .execute(
            "CREATE ROLE plain LOGIN PASSWORD 'plain'; GRANT USAGE ON SCHEMA @ TO plain;
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA @ TO plain;
            ALTER ROLE plain SET synchronous_commit = off; ALTER ROLE plain SET statement_timeout = 1;
            ALTER ROLE plain SET default_transaction_isolation = 'serializable';
            ALTER ROLE plain SET default_transaction_read_only = on",
        )
        .await;
    let (_, address) = server.url.split_once('@').unwrap();
    let url = format!("postgres://plain:plain@{address}");
    let postgres = Postgres::builder(&url).schema(&schema.name).open().await.unwrap();
    let settings = postgres.settings().await.unwrap();
    assert_eq!((&*settings.synchronous_commit, &*settings.fsync), ("on", "on"));
    assert_eq!((&*settings.statement_timeout, settings.schema_version), ("5s", 1));
    let engine = Engine::from(postgres);
    let node = join(&engine).await;
    let (generation, _) = own(&engine, &node, &entity("alice")).await;
    engine.state.save(&entity("alice"), generation, None, Etag::random(), "x".into()).await.unwrap();
    // Another schema would have to be created.
    let error = refused(Postgres::builder(&url).schema("other").open().await);
    assert!(matches!(&error, OpenError::Sql(_)) && error.to_string().contains("42501"), "{error:?}");
    schema.execute("ALTER ROLE plain SET synchronous_commit = remote_apply").await;
    let postgres = Postgres::builder(&url).schema(&schema.name).open().await.unwrap();
    assert_eq!(postgres.settings().await.unwrap().synchronous_commit, "remote_apply");
}

#[tokio::test]
async fn a_server_that_restarts() {
    if skipped() {
        return;
    }
    let server = Server::start();
    let schema = Schema::on(&server.url);
    let postgres = schema.open().await;
    let engine = Engine::from(postgres.clone());
    let mut watch = engine.membership.watch_members("bank").await.unwrap();
    let (node, id) = (join(&engine).await, entity("alice"));
    watch.next().await;
    let (generation, _) = own(&engine, &node, &id).await;
    let mut read = None;
    for (round, mode) in ["fast", "immediate", "fast"].into_iter().enumerate() {
        let write = |number: u8| Write {
            id: id.clone(),
            generation,
            read,
            new: Etag::random(),
            body: Some(vec![round as u8, number].into()),
        };
        let before = write(1);
        settle::write(&postgres, &before, &Repetition::default()).await.unwrap();
        server.stop(mode);
        for error in [
            postgres.read(&id).await.unwrap_err(),
            postgres.renew(&node).await.unwrap_err(),
            postgres
                .save(&id, generation, Some(before.new), Etag::random(), "lost".into())
                .await
                .unwrap_err(),
        ] {
            assert!(
                matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::UnknownOutcome)
                    && error.is_transient(),
                "{error:?}"
            );
        }
        // With the server away, nothing can be sent.
        let away = postgres.save(&id, generation, Some(before.new), Etag::random(), "lost".into()).await;
        assert_eq!(away.unwrap_err().kind(), ErrorKind::Unavailable);
        server.restart(&[]);
        let stored = recovers("a read", async || postgres.read(&id).await).await.unwrap();
        assert_eq!(stored.etag, Some(before.new), "round {round}: an acknowledged save");
        recovers("a renewal", async || postgres.renew(&node).await).await;
        let after = Write { read: Some(before.new), ..write(2) };
        recovers("a save", async || settle::write(&postgres, &after, &Repetition::default()).await).await;
        read = Some(after.new);
    }
    // The watch has survived as well.
    let another = join(&engine).await;
    let change = tokio::time::timeout(Duration::from_secs(10), watch.next()).await.unwrap();
    assert!(matches!(change, dactor_engine::Notice::Changed(change) if change.node == another));
}

#[tokio::test]
async fn sessions_that_are_terminated_under_load() {
    if skipped() {
        return;
    }
    let schema = Schema::new();
    let postgres = schema.open().await;
    let engine = Engine::from(postgres.clone());
    let node = join(&engine).await;
    let mut savers = tokio::task::JoinSet::new();
    for number in 0..20 {
        let id = entity(&format!("account-{number}"));
        let (generation, _) = own(&engine, &node, &id).await;
        let postgres = postgres.clone();
        savers.spawn(async move {
            let (mut read, mut unknown) = (None, 0);
            for round in 0..60_u32 {
                let new = Etag::random();
                let body = Some(round.to_string().into());
                let write = Write { id: id.clone(), generation, read, new, body };
                loop {
                    match settle::write(&postgres, &write, &Repetition::default().most(30)).await {
                        Ok(()) => break,
                        Err(error) => {
                            // Known not to be applied: repeat the same save.
                            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
                            unknown += 1;
                            tokio::time::sleep(Duration::from_millis(2)).await;
                        }
                    }
                }
                read = Some(new);
            }
            let stored = postgres.read(&id).await.unwrap().unwrap();
            assert_eq!((stored.etag, stored.body.as_deref()), (read, Some(&b"59"[..])));
            unknown
        });
    }
    let client = schema.client().await;
    let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE $1 AND pid <> pg_backend_pid()";
    let mut terminated: i64 = 0;
    while !savers.is_empty() {
        let rows = client.query_one(sql, &[&format!("%UPDATE%{}%", schema.name)]).await.unwrap();
        terminated += rows.get::<_, i64>(0);
        while savers.try_join_next().is_some_and(|ended| ended.is_ok() || panic!("{ended:?}")) {}
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    println!("{terminated} sessions terminated");
    assert!(terminated > 0);
}

#[tokio::test]
async fn no_connection_left_and_a_changed_password() {
    if skipped() {
        return;
    }
    let server = Server::start();
    let schema = Schema::on(&server.url);
    schema.open().await;
    schema.execute("CREATE ROLE plain LOGIN PASSWORD 'plain' SUPERUSER").await;
    let (_, address) = server.url.split_once('@').unwrap();
    let url = format!("postgres://plain:plain@{address}");
    let postgres = Postgres::builder(&url).schema(&schema.name).open().await.unwrap();
    let engine = Engine::from(postgres.clone());
    let (node, id) = (join(&engine).await, entity("alice"));
    let (generation, _) = own(&engine, &node, &id).await;
    // The engine has its connections for leases and claims, and the saves need another.
    schema.execute("ALTER ROLE plain NOSUPERUSER CONNECTION LIMIT 0; GRANT ALL ON SCHEMA @ TO plain; GRANT ALL ON ALL TABLES IN SCHEMA @ TO plain").await;
    let error = postgres.save(&id, generation, None, Etag::random(), "x".into()).await.unwrap_err();
    assert_eq!((error.kind(), error.is_transient()), (ErrorKind::Unavailable, true), "{error:?}");
    assert!(error.to_string().contains("53300"), "{error}");
    let error = refused(Postgres::builder(&url).schema(&schema.name).open().await);
    assert!(matches!(error, OpenError::TooManyConnections(_)) && error.is_transient(), "{error:?}");
    postgres.read(&id).await.expect("the connections that it has work");
    schema.execute("ALTER ROLE plain CONNECTION LIMIT -1 PASSWORD 'changed'").await;
    let error = postgres.save(&id, generation, None, Etag::random(), "x".into()).await.unwrap_err();
    assert_eq!((error.kind(), error.is_transient()), (ErrorKind::Unavailable, false), "{error:?}");
    schema.execute("ALTER ROLE plain PASSWORD 'plain'").await;
    postgres.save(&id, generation, None, Etag::random(), "x".into()).await.expect("a save");
}

/// The errors of a full disk, without one: `a_full_disk` needs a small file system.
#[tokio::test]
async fn errors_of_the_disk_fail_a_save_and_change_nothing() {
    if skipped() {
        return;
    }
    let schema = Schema::new();
    let postgres = schema.open().await;
    let engine = Engine::from(postgres.clone());
    let (node, id) = (join(&engine).await, entity("alice"));
    let (generation, _) = own(&engine, &node, &id).await;
    let etag = Etag::random();
    postgres.save(&id, generation, None, etag, "x".into()).await.unwrap();
    for (code, kind, transient) in [
        ("53100", ErrorKind::Io, true),
        ("58030", ErrorKind::Io, true),
        ("53200", ErrorKind::Io, true),
        ("40P01", ErrorKind::Unavailable, true),
        ("25006", ErrorKind::Unavailable, true),
        ("XX001", ErrorKind::Io, false),
    ] {
        schema
            .execute(&format!(
                "CREATE OR REPLACE FUNCTION @.fails() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN RAISE EXCEPTION ''injected'' USING ERRCODE = ''{code}''; END';
                CREATE TRIGGER fails BEFORE UPDATE ON @.state EXECUTE FUNCTION @.fails()"
            ))
            .await;
        let (new, other) = (Etag::random(), entity("bob"));
        let (first, second) = tokio::join!(
            postgres.save(&id, generation, Some(etag), new, "y".into()),
            postgres.save(&other, generation, Some(etag), new, "y".into()),
        );
        for error in [first.unwrap_err(), second.unwrap_err()] {
            assert_eq!((error.kind(), error.is_transient()), (kind, transient), "{code}: {error:?}");
        }
        schema.execute("DROP TRIGGER fails ON @.state").await;
        assert_eq!(postgres.read(&id).await.unwrap().unwrap().etag, Some(etag), "{code}");
    }
    postgres.save(&id, generation, Some(etag), Etag::random(), "y".into()).await.expect("a save");
}

/// Needs a directory on a file system of about 100 MB that the account of the server may write:
/// `DACTOR_POSTGRES_SMALL_DISK=DIRECTORY cargo test -p dactor-postgres --test failures -- --ignored a_full_disk`.
#[tokio::test]
#[ignore = "needs a small file system"]
async fn a_full_disk() {
    let directory = std::env::var("DACTOR_POSTGRES_SMALL_DISK").unwrap();
    let server = Server::start();
    let schema = Schema::on(&server.url);
    let client = schema.client().await;
    client.batch_execute(&format!("CREATE TABLESPACE small LOCATION '{directory}'")).await.unwrap();
    let postgres = schema.open().await;
    schema.execute("ALTER TABLE @.state SET TABLESPACE small").await;
    let engine = Engine::from(postgres.clone());
    let node = join(&engine).await;
    let (mut saved, mut failed) = (Vec::new(), 0);
    for number in 0..400_u32 {
        let id = entity(&format!("account-{number:03}"));
        let (claimed, token) = (engine.directory.clone(), dactor_engine::ClaimToken::random());
        let dactor_engine::Claim::Granted(generation) = claimed.claim(&id, &node, token).await.unwrap()
        else {
            panic!()
        };
        let new = Etag::random();
        // Not compressible.
        let body: Vec<u8> =
            (0..500_000_u32).map(|at| (at ^ number).wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
        let result = match postgres.open(&id, generation, token).await {
            Ok(_) => postgres.save(&id, generation, None, new, body.into()).await,
            Err(error) => Err(error),
        };
        match result {
            Ok(()) => saved.push((id, new)),
            Err(error) => {
                assert_eq!((error.kind(), error.is_transient()), (ErrorKind::Io, true), "{error:?}");
                failed += 1;
            }
        }
    }
    println!("{} saved, {failed} failed", saved.len());
    assert!(failed > 10 && saved.len() > 10);
    for (id, etag) in &saved {
        assert_eq!(postgres.read(id).await.unwrap().unwrap().etag, Some(*etag), "{id}");
    }
    client
        .batch_execute(&format!("ALTER TABLE {}.state SET TABLESPACE pg_default", schema.name))
        .await
        .unwrap();
    let (generation, _) = own(&engine, &node, &entity("more")).await;
    postgres.save(&entity("more"), generation, None, Etag::random(), "x".into()).await.expect("room again");
}

#[tokio::test]
async fn a_locked_row_delays_neither_for_ever_nor_others() {
    if skipped() {
        return;
    }
    let schema = Schema::new();
    let postgres = schema.builder().timeout(Duration::from_millis(700)).open().await.unwrap();
    let engine = Engine::from(postgres.clone());
    let (node, id) = (join(&engine).await, entity("alice"));
    let (generation, _) = own(&engine, &node, &id).await;
    let lock = schema.client().await;
    lock.batch_execute(&format!("BEGIN; SELECT FROM {}.state FOR UPDATE", schema.name)).await.unwrap();
    let new = Etag::random();
    let (saving, start) = (postgres.clone(), Instant::now());
    let copy = id.clone();
    let save = tokio::spawn(async move { saving.save(&copy, generation, None, new, "x".into()).await });
    // Renewals have a connection of their own.
    postgres.renew(&node).await.expect("a renewal beside a save that waits");
    postgres.read(&id).await.expect("a read beside a save that waits");
    let error = save.await.unwrap().unwrap_err();
    assert_eq!((error.kind(), error.is_transient()), (ErrorKind::Unavailable, true), "{error:?}");
    assert!(error.to_string().contains("57014") && start.elapsed() < Duration::from_secs(20), "{error}");
    // An operation that is dropped while it waits leaves nothing behind.
    let (token, higher) = (dactor_engine::ClaimToken::random(), generation.next().unwrap());
    let open = postgres.open(&id, higher, token);
    assert!(tokio::time::timeout(Duration::from_millis(50), open).await.is_err());
    lock.batch_execute("COMMIT").await.unwrap();
    drop(lock);
    for _ in 0..20 {
        postgres.read(&id).await.expect("a read");
    }
}
