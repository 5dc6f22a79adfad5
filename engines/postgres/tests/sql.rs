//! SQL of the application on PostgreSQL: what the rules of the kit do not cover.

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::server::skipped;
use common::{Schema, entity, join, own};
use dactor_engine::{
    ClaimToken, Engine, EntityId, ErrorKind, Etag, FencedSql, Generation, NodeId, StateStore, Statement,
    StorageError, Value,
};
use dactor_postgres::Postgres;

struct Owner {
    schema: Schema,
    postgres: Postgres,
    engine: Engine,
    node: NodeId,
    id: EntityId,
    generation: Generation,
}

impl Owner {
    async fn new(tables: &str) -> Self {
        let schema = Schema::new();
        let postgres = schema.builder().timeout(Duration::from_secs(2)).open().await.unwrap();
        schema.execute(tables).await;
        let (engine, id) = (Engine::from(postgres.clone()), entity("alice"));
        let node = join(&engine).await;
        let (generation, _) = own(&engine, &node, &id).await;
        Self { schema, postgres, engine, node, id, generation }
    }

    async fn save(&self, read: Option<Etag>, also: Vec<Statement>) -> Result<Etag, StorageError> {
        let new = Etag::random();
        self.postgres
            .save_with(&self.id, self.generation, read, new, "x".into(), also.into())
            .await
            .map(|()| new)
    }

    async fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {}.{table}", self.schema.name);
        self.postgres.query(&sql, &[]).await.unwrap()[0].at(0).as_int().unwrap()
    }
}

#[tokio::test]
async fn values_of_all_types() {
    if skipped() {
        return;
    }
    let owner = Owner::new(
        "CREATE TYPE @.mood AS ENUM ('good', 'bad'); CREATE DOMAIN @.positive AS int4 CHECK (value > 0);
        CREATE TABLE @.all_types (id int8, small int2, plain int4, flag bool, real4 float4, exact numeric, name varchar(9),
            made timestamptz, day date, code uuid, doc jsonb, mood @.mood, pos @.positive, body bytea)",
    )
    .await;
    let insert = Statement::new(
        "INSERT INTO all_types VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::mood, $13, $14)",
    )
    .bind(1)
    .bind(-7)
    .bind(70_000)
    .bind(1)
    .bind(0.5)
    .bind("12345.25")
    .bind("short")
    .bind("2026-01-02T03:04:05Z")
    .bind("2026-01-02")
    .bind("0190c6a0-0000-7000-8000-0123456789ab")
    .bind("{\"a\": [1, null]}")
    .bind("bad")
    .bind(5)
    .bind(vec![0_u8, 255]);
    owner.save(None, vec![insert]).await.unwrap();
    let sql = "SELECT small, plain, flag, real4, exact, name, made = '2026-01-02T03:04:05Z', day::text, code, doc, mood, pos, body,
        sum(id) OVER () AS total FROM all_types";
    let row = &owner.postgres.query(sql, &[]).await.unwrap()[0];
    let expected: [Value; 14] = [
        (-7).into(),
        70_000.into(),
        1.into(),
        0.5.into(),
        12_345.25.into(),
        "short".into(),
        1.into(),
        "2026-01-02".into(),
        "0190c6a0-0000-7000-8000-0123456789ab".into(),
        "{\"a\": [1, null]}".into(),
        "bad".into(),
        5.into(),
        vec![0_u8, 255].into(),
        1.into(),
    ];
    assert_eq!(row.values(), expected);
    assert_eq!(row.get("total").as_int(), Some(1));
    let error = owner.postgres.query("SELECT made FROM all_types", &[]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Statement);
    assert!(error.to_string().contains("cast it"), "{error}");
    for (wrong, what) in [
        (Statement::new("INSERT INTO all_types (plain) VALUES ($1)").bind(1_i64 << 40), "out of range"),
        (Statement::new("INSERT INTO all_types (code) VALUES ($1)").bind("no code"), "not a uuid"),
        (Statement::new("INSERT INTO all_types (plain) VALUES ($1)").bind(vec![1_u8]), "bytes for a number"),
        (Statement::new("INSERT INTO all_types (pos) VALUES ($1)").bind(-1), "outside of the domain"),
        (Statement::new("INSERT INTO all_types (name) VALUES ($1)").bind("longer than nine"), "too long"),
    ] {
        let read = owner.postgres.read(&owner.id).await.unwrap().unwrap().etag;
        let error = owner.save(read, vec![wrong]).await.expect_err(what);
        assert_eq!((error.kind(), error.is_transient()), (ErrorKind::Statement, false), "{what}: {error:?}");
        assert_eq!(error.statement().map(|statement| statement.index), Some(0), "{what}");
    }
    owner.postgres.query("SELECT 1", &[]).await.expect("the connection still works");
}

#[tokio::test]
async fn the_application_cannot_write_tables_of_the_engine() {
    if skipped() {
        return;
    }
    let owner = Owner::new("CREATE TABLE @.log (number int8)").await;
    for table in ["state", "directory", "members"] {
        for sql in [
            format!("DELETE FROM {table}"),
            format!("TRUNCATE {table}"),
            format!("UPDATE {table} SET namespace = ''"),
        ] {
            let also = vec![Statement::new("INSERT INTO log VALUES (1)"), Statement::new(sql.clone())];
            let error = owner.save(None, also).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Statement, "{sql}: {error:?}");
            let mut transaction = owner.postgres.under_fence(&owner.id, owner.generation).await.unwrap();
            assert_eq!(
                transaction.execute(&sql, &[]).await.unwrap_err().kind(),
                ErrorKind::Statement,
                "{sql}"
            );
        }
    }
    assert_eq!(owner.count("log").await, 0);
    // The engine itself still can, on the same connections.
    owner.save(None, vec![Statement::new("INSERT INTO log VALUES (1)")]).await.unwrap();
    own(&owner.engine, &owner.node, &entity("bob")).await;
}

#[tokio::test]
async fn a_constraint_that_is_checked_at_the_end() {
    if skipped() {
        return;
    }
    let owner = Owner::new(
        "CREATE TABLE @.parents (id int8 PRIMARY KEY);
        CREATE TABLE @.children (parent int8 REFERENCES @.parents DEFERRABLE INITIALLY DEFERRED)",
    )
    .await;
    let error = owner.save(None, vec![Statement::new("INSERT INTO children VALUES (1)")]).await.unwrap_err();
    assert_eq!((error.kind(), error.is_transient()), (ErrorKind::Statement, false), "{error:?}");
    assert_eq!(owner.count("children").await, 0);
    assert_eq!(owner.postgres.read(&owner.id).await.unwrap().unwrap().etag, None);
    let both = ["INSERT INTO children VALUES (1)", "INSERT INTO parents VALUES (1)"].map(Statement::new);
    owner.save(None, both.into()).await.expect("the child before the parent");
}

/// A row that another session has locked delays the save that needs it, and no other.
#[tokio::test]
async fn a_lock_of_the_application_delays_only_its_own_save() {
    if skipped() {
        return;
    }
    let owner = Owner::new("CREATE TABLE @.counters (id int8 PRIMARY KEY, n int8); INSERT INTO @.counters SELECT g, 0 FROM generate_series(0, 40) g").await;
    let lock = owner.schema.client().await;
    lock.batch_execute(&format!("BEGIN; UPDATE {}.counters SET n = 100 WHERE id = 0", owner.schema.name))
        .await
        .unwrap();
    let mut saves = tokio::task::JoinSet::new();
    for number in 0..40_i64 {
        let id = entity(&format!("counter-{number}"));
        let (generation, _) = own(&owner.engine, &owner.node, &id).await;
        let postgres = owner.postgres.clone();
        saves.spawn(async move {
            let also: Arc<[Statement]> =
                Arc::new([Statement::new("UPDATE counters SET n = n + 1 WHERE id = $1")
                    .bind(number)
                    .expect_rows(1)]);
            let result = postgres.save_with(&id, generation, None, Etag::random(), "x".into(), also).await;
            (number, result.map_err(|error| error.kind()))
        });
    }
    let mut first = Vec::new();
    while first.len() < 39 {
        let (number, result) = saves.join_next().await.unwrap().unwrap();
        assert_eq!(result, Ok(()), "{number}");
        first.push(number);
    }
    assert!(!first.contains(&0), "it waits for the lock");
    lock.batch_execute("COMMIT").await.unwrap();
    assert_eq!(saves.join_next().await.unwrap().unwrap(), (0, Ok(())));
    let sum = owner.postgres.query("SELECT sum(n) FROM counters", &[]).await.unwrap();
    assert_eq!(sum[0].at(0).as_int(), Some(140));
}

#[tokio::test]
async fn a_transaction_under_the_fence() {
    if skipped() {
        return;
    }
    let owner = Owner::new("CREATE TABLE @.messages (seq int8 PRIMARY KEY, note text)").await;
    let begin = || owner.postgres.under_fence(&owner.id, owner.generation);
    for expected in 1..=3_i64 {
        let mut transaction = begin().await.unwrap();
        let next =
            transaction.query("SELECT coalesce(max(seq), 0) + 1 AS seq FROM messages", &[]).await.unwrap();
        assert_eq!(next[0].get("seq").as_int(), Some(expected));
        let insert = "INSERT INTO messages VALUES ($1, $2)";
        let rows = transaction.execute(insert, &[next[0].at(0).clone(), "hello".into()]).await.unwrap();
        assert_eq!(rows, 1);
        transaction.commit().await.unwrap();
    }
    // Dropped, rolled back, failed: nothing is changed.
    let mut dropped = begin().await.unwrap();
    dropped.execute("DELETE FROM messages", &[]).await.unwrap();
    drop(dropped);
    let mut rolled_back = begin().await.unwrap();
    rolled_back.execute("DELETE FROM messages", &[]).await.unwrap();
    rolled_back.rollback().await;
    let mut failed = begin().await.unwrap();
    failed.execute("DELETE FROM messages", &[]).await.unwrap();
    assert_eq!(failed.execute("nonsense", &[]).await.unwrap_err().kind(), ErrorKind::Statement);
    assert_eq!(failed.commit().await.unwrap_err().kind(), ErrorKind::Statement, "it has failed before");
    for text in ["COMMIT", "ROLLBACK", "SET search_path = x"] {
        let mut transaction = begin().await.unwrap();
        assert_eq!(transaction.execute(text, &[]).await.unwrap_err().kind(), ErrorKind::Statement, "{text}");
    }
    assert_eq!(owner.count("messages").await, 3);
    let unopened = owner.postgres.under_fence(&entity("unopened"), owner.generation).await;
    assert_eq!(unopened.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_takeover_waits_for_the_commit_and_ends_the_old_owner() {
    if skipped() {
        return;
    }
    let owner = Owner::new("CREATE TABLE @.messages (seq int8)").await;
    let mut transaction = owner.postgres.under_fence(&owner.id, owner.generation).await.unwrap();
    transaction.execute("INSERT INTO messages VALUES (1)", &[]).await.unwrap();
    let (next, token) = (owner.generation.next().unwrap(), ClaimToken::random());
    let (postgres, id, name) = (owner.postgres.clone(), owner.id.clone(), owner.schema.name.clone());
    let takeover = tokio::spawn(async move {
        postgres.open(&id, next, token).await.unwrap();
        postgres.query(&format!("SELECT seq FROM {name}.messages"), &[]).await.unwrap().len()
    });
    // The open is in the server, and waits.
    let client = owner.schema.client().await;
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1";
    while client.query_one(waiting, &[&format!("%{}%", owner.schema.name)]).await.unwrap().get::<_, i64>(0)
        == 0
    {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    transaction.commit().await.unwrap();
    assert_eq!(takeover.await.unwrap(), 1, "the new owner sees what the old one has committed");
    let late = owner.postgres.under_fence(&owner.id, owner.generation).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Fenced);
    let late = owner.save(None, vec![Statement::new("INSERT INTO messages VALUES (2)")]).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Fenced);
    assert_eq!(owner.count("messages").await, 1);
}

/// A process that was stopped in the middle of a transaction.
#[tokio::test]
async fn a_stopped_owner_does_not_prevent_a_takeover() {
    if skipped() {
        return;
    }
    let owner = Owner::new("CREATE TABLE @.messages (seq int8)").await;
    let mut transaction = owner.postgres.under_fence(&owner.id, owner.generation).await.unwrap();
    transaction.execute("INSERT INTO messages VALUES (1)", &[]).await.unwrap();
    let start = Instant::now();
    // Another process, with more patience.
    let other = owner.schema.builder().timeout(Duration::from_secs(20)).open().await.unwrap();
    let next = owner.generation.next().unwrap();
    other.open(&owner.id, next, ClaimToken::random()).await.expect("the server ends the transaction");
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    let error = transaction.commit().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert_eq!(owner.count("messages").await, 0);
    owner.postgres.read(&owner.id).await.expect("the engine goes on");
}

#[tokio::test]
async fn a_transaction_has_a_limited_time() {
    if skipped() {
        return;
    }
    let owner = Owner::new("CREATE TABLE @.messages (seq int8)").await;
    let mut transaction = owner.postgres.under_fence(&owner.id, owner.generation).await.unwrap();
    let start = Instant::now();
    let error = loop {
        match transaction.execute("INSERT INTO messages SELECT 1 FROM pg_sleep(0.2)", &[]).await {
            Ok(_) => assert!(start.elapsed() < Duration::from_secs(20), "no limit"),
            Err(error) => break error,
        }
    };
    assert_eq!((error.kind(), error.is_transient()), (ErrorKind::Unavailable, true), "{error:?}");
    assert_eq!(transaction.commit().await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(owner.count("messages").await, 0);
}
