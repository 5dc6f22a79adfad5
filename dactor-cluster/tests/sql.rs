//! Statements of the application beside the save of an actor.

mod support;

use std::collections::BTreeMap;

use dactor_cluster::{Activation, Cluster, Persistent, VirtualActor};
use dactor_core::wire::Remote;
use dactor_core::{Actor, Context, Error, Exclusive, Handler, Message, Outcome};
use dactor_engine::{Engine, ErrorKind, Faults, Faulty, Statement, StorageError};
use support::{Case, table, until};

/// Its state is the number of rows that it has inserted.
struct Writer {
    rows: Persistent<u64>,
}

impl Actor for Writer {}
impl Remote for Writer {
    const TYPE: &'static str = "Writer";
}
impl VirtualActor for Writer {
    type State = u64;
    async fn activate(activation: Activation<Self>) -> Outcome<Self> {
        Ok(Self { rows: activation.state() })
    }
}

struct Run(Vec<Statement>);
impl Message for Run {
    type Reply = u64;
    type Access = Exclusive;
}

struct Count;
impl Message for Count {
    type Reply = u64;
    type Access = Exclusive;
}

impl Handler<Run> for Writer {
    async fn handle(&mut self, Run(statements): Run, _: &mut Context<Self>) -> Outcome<u64> {
        self.rows.update_with(|rows| *rows += 1, statements).await?;
        Ok(*self.rows.get())
    }
}

impl Handler<Count> for Writer {
    async fn handle(&mut self, _: Count, _: &mut Context<Self>) -> Outcome<u64> {
        Ok(*self.rows.get())
    }
}

fn insert(id: u64) -> Statement {
    Statement::new("INSERT INTO log (id) VALUES ($1)").bind(id as i64).expect_rows(1)
}

fn storage(error: &Error) -> &StorageError {
    error.downcast_ref().unwrap_or_else(|| panic!("{error:#}"))
}

async fn start(case: &Case, engine: Engine) -> Cluster {
    Cluster::builder(&case.system).engine(engine).register::<Writer>().start().await.unwrap()
}

/// How often each number was inserted.
async fn rows(cluster: &Cluster) -> BTreeMap<u64, u64> {
    let sql = "SELECT id, count(*) FROM log GROUP BY id";
    let rows = cluster.sql().unwrap().query(sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.at(0).as_int().unwrap() as u64, row.at(1).as_int().unwrap() as u64)).collect()
}

#[test]
fn without_sql_it_is_unsupported() {
    table("unsupported", |case| async move {
        if case.engine.sql.is_some() {
            return;
        }
        let cluster = start(&case, case.engine.clone()).await;
        let actor = cluster.actor::<Writer>("w").unwrap();
        let error = actor.ask(Run(vec![insert(1)])).await.unwrap_err();
        assert_eq!(storage(&error).kind(), ErrorKind::Unsupported, "{error:#}");
        assert_eq!(cluster.sql().unwrap_err().kind(), ErrorKind::Unsupported);
        // Without statements it is an update.
        assert_eq!(actor.ask(Run(vec![])).await.unwrap(), 1);
    });
}

#[test]
fn a_failed_statement_changes_nothing() {
    table("statements", |case| async move {
        if case.engine.sql.is_none() {
            return;
        }
        let cluster = start(&case, case.engine.clone()).await;
        let actor = cluster.actor::<Writer>("w").unwrap();
        let create = Statement::new("CREATE TABLE log (id BIGINT)");
        assert_eq!(actor.ask(Run(vec![create, insert(1)])).await.unwrap(), 1);
        let none = Statement::new("DELETE FROM log WHERE id = 99").expect_rows(1);
        let error = actor.ask(Run(vec![insert(2), none])).await.unwrap_err();
        let error = storage(&error);
        assert_eq!(error.kind(), ErrorKind::RowCount);
        let statement = error.statement().unwrap();
        assert_eq!((statement.index, statement.rows), (1, Some(0)));
        assert_eq!(actor.ask(Count).await.unwrap(), 1);
        assert_eq!(rows(&cluster).await, BTreeMap::from([(1, 1)]));
        // The activation goes on.
        assert_eq!(actor.ask(Run(vec![insert(2)])).await.unwrap(), 2);
    });
}

#[test]
fn unknown_outcomes_insert_once() {
    for seed in [1, 2, 3] {
        println!("seed {seed}");
        table(&format!("once{seed}"), |case| async move {
            if case.engine.sql.is_none() {
                return;
            }
            let faults = Faults::new(seed).fail(0.04).tear(0.05).lose_answer(0.1).land_late(0.05);
            let faulty = Engine::from(Faulty::new(case.engine.clone(), faults));
            let engine = Engine { membership: case.engine.membership.clone(), ..faulty };
            let cluster = start(&case, engine).await;
            let actor = cluster.actor::<Writer>("w").unwrap();
            let create = || Statement::new("CREATE TABLE IF NOT EXISTS log (id BIGINT)");
            while actor.ask(Run(vec![create()])).await.is_err() {}
            let before = actor.ask(Count).await.unwrap();
            let mut acknowledged = Vec::new();
            for id in 0..100 {
                if actor.ask(Run(vec![insert(id)])).await.is_ok() {
                    acknowledged.push(id);
                }
            }
            actor.stop();
            until("the end of the activation", || cluster.active() == 0).await;
            let state = loop {
                if let Ok(count) = actor.ask(Count).await {
                    break count;
                }
            };
            let plain = case.engine.sql.clone().unwrap();
            let found = plain.query("SELECT id FROM log ORDER BY id", &[]).await.unwrap();
            let found: Vec<u64> = found.iter().map(|row| row.at(0).as_int().unwrap() as u64).collect();
            assert!(found.is_sorted_by(|a, b| a < b), "a row was inserted twice: {found:?}");
            assert!(acknowledged.iter().all(|id| found.contains(id)), "a lost row");
            assert_eq!(state - before, found.len() as u64, "state and rows are one content");
            assert!(acknowledged.len() > 70, "{}", acknowledged.len());
        });
    }
}
