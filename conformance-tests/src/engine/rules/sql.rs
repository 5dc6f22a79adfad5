//! Statements of the application beside a save, for engines with SQL.

use std::sync::Arc;

use bytes::Bytes;
use dactor_engine::settle::{self, Repetition, Write};
use dactor_engine::{
    Engine, ErrorKind, Etag, Faults, Faulty, FencedSql, Generation, Statement, StorageError, Value,
};
use tokio::task::JoinSet;

use super::body;
use crate::engine::context::{entity, refused};
use crate::engine::{EngineContext, EngineRule, Owned};

pub(super) static RULES: &[EngineRule] = &[
    EngineRule::must(
        "SQL-01",
        "The statements of a save are committed with it, in order, and a query of another process sees them.",
        "The tables and the state are one content.",
        &["drops-the-statements"],
        body!(together),
    ),
    EngineRule::must(
        "SQL-02",
        "A save with statements that gets `Fenced`, `Conflict` or `NotFound` runs none of them.",
        "An activation that has lost its ownership must not write tables either.",
        &["runs-statements-of-refused-saves"],
        body!(refusals),
    ),
    EngineRule::must(
        "SQL-03",
        "A save with statements that is repeated because its outcome is unknown runs them once.",
        "A repetition is the only way to settle an outcome, and it must not add a second row.",
        &["runs-statements-twice", "runs-statements-of-refused-saves"],
        body!(repetitions),
    ),
    EngineRule::must(
        "SQL-04",
        "A statement that changes another number of rows than it expects fails the save with `RowCount` and names the statement; nothing is changed.",
        "The number of rows is the condition of the application.",
        &["ignores-row-counts", "saves-in-spite-of-a-statement", "hides-the-statement"],
        body!(row_counts),
    ),
    EngineRule::must(
        "SQL-05",
        "A statement that is not valid or violates a constraint fails the save with `Statement` and names the statement; nothing is changed, and the next save works.",
        "Half of a transaction is worse than none.",
        &["saves-in-spite-of-a-statement", "hides-the-statement"],
        body!(failures),
    ),
    EngineRule::must(
        "SQL-06",
        "A statement that fails does not affect the saves of other entities at the same time.",
        "An engine may commit many saves together; the mistake of one must not fail its neighbours.",
        &["fails-the-neighbours-of-a-statement"],
        body!(neighbours),
    ),
    EngineRule::must(
        "SQL-07",
        "Arguments are bound to `$1` to `$n` by their numbers, and values come back as they were; a missing or an unused argument gets `Statement`.",
        "One text of SQL has to mean the same on every database.",
        &["binds-in-order-of-appearance"],
        body!(arguments),
    ),
    EngineRule::must(
        "SQL-08",
        "A statement that would begin or end a transaction gets `Statement`, and nothing is changed.",
        "It would commit or undo the saves of others.",
        &["lets-statements-commit"],
        body!(transactions),
    ),
    EngineRule::must(
        "SQL-09",
        "A query that would write gets an error and changes nothing.",
        "What is not under the fence must not write.",
        &["query-writes"],
        body!(reads),
    ),
];

/// One store with the table of the rules.
struct Tables {
    engine: Engine,
    owned: Owned,
    etag: Option<Etag>,
}

impl Tables {
    async fn new(kit: &EngineContext) -> Self {
        let engine = kit.open().await;
        let node = kit.join(&engine).await;
        let owned = kit.own(&engine, &node, &entity("alice")).await;
        let table =
            "CREATE TABLE kit_rows (id BIGINT PRIMARY KEY, note TEXT, amount DOUBLE PRECISION, body BYTEA)";
        let etag = save(&owned, None, [Statement::new(table)]).await.expect("a table is created");
        Self { engine, owned, etag: Some(etag) }
    }

    async fn save(&self, also: impl IntoIterator<Item = Statement>) -> Result<Etag, StorageError> {
        save(&self.owned, self.etag, also).await
    }

    /// The rows, and the body of the state.
    async fn content(&self) -> (Vec<(i64, String)>, Option<Bytes>) {
        (rows(&self.engine).await, self.owned.stored().await.body)
    }

    /// Nothing was changed by what was refused.
    async fn refuses(&self, also: Vec<Statement>, kind: ErrorKind, what: &str) -> StorageError {
        let before = (self.content().await, self.owned.stored().await.etag);
        let error = self.save(also).await.expect_err(what);
        assert_eq!(error.kind(), kind, "{what}: {error}");
        assert_eq!((self.content().await, self.owned.stored().await.etag), before, "{what}");
        error
    }
}

fn sql(engine: &Engine) -> &Arc<dyn FencedSql> {
    engine.sql.as_ref().expect("the subject says that its engine has SQL")
}

async fn save(
    owned: &Owned,
    read: Option<Etag>,
    also: impl IntoIterator<Item = Statement>,
) -> Result<Etag, StorageError> {
    let (new, also) = (Etag::random(), also.into_iter().collect());
    let body = Bytes::from(new.to_bytes().to_vec());
    sql(&owned.engine).save_with(&owned.id, owned.generation, read, new, body, also).await.map(|()| new)
}

fn insert(id: i64, note: &str) -> Statement {
    Statement::new("INSERT INTO kit_rows (id, note) VALUES ($1, $2)").bind(id).bind(note).expect_rows(1)
}

async fn rows(engine: &Engine) -> Vec<(i64, String)> {
    let rows = sql(engine).query("SELECT id, note FROM kit_rows ORDER BY id", &[]).await.expect("a query");
    let row = |row: &dactor_engine::Row| {
        (row.get("id").as_int().expect("an id"), row.at(1).as_text().unwrap_or("").to_owned())
    };
    rows.iter().map(row).collect()
}

async fn together(kit: EngineContext) {
    let tables = Tables::new(&kit).await;
    let update = Statement::new("UPDATE kit_rows SET note = $1 WHERE id = 1").bind("b").expect_rows(1);
    let etag = tables.save([insert(1, "a"), insert(2, "x"), update]).await.expect("a save with statements");
    assert_eq!(tables.owned.stored().await.etag, Some(etag));
    let other = kit.open().await;
    assert_eq!(rows(&other).await, [(1, "b".to_owned()), (2, "x".to_owned())]);
}

async fn refusals(kit: EngineContext) {
    let tables = Tables::new(&kit).await;
    let old = &tables.owned;
    refused(save(old, Some(Etag::random()), [insert(1, "")]).await, ErrorKind::Conflict, "another etag");
    refused(save(old, None, [insert(2, "")]).await, ErrorKind::Conflict, "no etag");
    let mut unopened = old.clone();
    (unopened.id, unopened.generation) = (entity("unopened"), Generation::FIRST);
    refused(save(&unopened, None, [insert(3, "")]).await, ErrorKind::NotFound, "a state without a row");
    let node = kit.join(&tables.engine).await;
    tables.engine.directory.release(&old.id, old.generation).await.expect("a release");
    let new = kit.own(&tables.engine, &node, &old.id).await;
    refused(tables.save([insert(4, "")]).await, ErrorKind::Fenced, "an old generation");
    assert_eq!(rows(&tables.engine).await, []);
    save(&new, tables.etag, [insert(5, "")]).await.expect("a save of the owner");
    assert_eq!(rows(&tables.engine).await.len(), 1);
}

async fn repetitions(kit: EngineContext) {
    let mut tables = Tables::new(&kit).await;
    let faults = Faults::new(kit.seed()).tear(0.2).lose_answer(0.3).land_late(0.2);
    let faulty = Engine::from(Faulty::new(tables.engine.clone(), faults));
    let repetition = Repetition::default().most(40).first_pause(std::time::Duration::from_micros(10));
    let table = Statement::new("CREATE TABLE kit_log (id BIGINT)");
    tables.etag = Some(tables.save([table]).await.expect("a table is created"));
    for id in 0..40_i64 {
        let Owned { id: entity, generation, .. } = tables.owned.clone();
        let new = Etag::random();
        let write = Write { id: entity, generation, read: tables.etag, new, body: Some("x".into()) };
        let log = Statement::new("INSERT INTO kit_log (id) VALUES ($1)").bind(id);
        let also: Arc<[Statement]> = Arc::new([log]);
        let settled = settle::write_with(&**sql(&faulty), &write, &also, &repetition).await;
        settled.expect("the save is settled");
        tables.etag = Some(new);
    }
    let count = "SELECT id, count(*) AS n FROM kit_log GROUP BY id ORDER BY id";
    let found = sql(&tables.engine).query(count, &[]).await.expect("a query");
    let found: Vec<_> = found.iter().map(|row| (row.at(0).as_int(), row.get("n").as_int())).collect();
    assert_eq!(found, (0..40).map(|id| (Some(id), Some(1))).collect::<Vec<_>>());
}

async fn row_counts(kit: EngineContext) {
    let tables = Tables::new(&kit).await;
    let none = || Statement::new("UPDATE kit_rows SET note = 'x' WHERE id = $1").bind(99).expect_rows(1);
    let error = tables.refuses(vec![insert(1, "a"), none()], ErrorKind::RowCount, "no row").await;
    let statement = error.statement().expect("the error names the statement");
    assert_eq!((statement.index, statement.rows, &*statement.sql), (1, Some(0), &*none().sql));
    let mut any = none();
    any.expect_rows = None;
    tables.save([insert(1, "a"), any]).await.expect("any number of rows");
}

async fn failures(kit: EngineContext) {
    let mut tables = Tables::new(&kit).await;
    tables.etag = Some(tables.save([insert(1, "a")]).await.expect("a save"));
    let wrong = [
        Statement::new("INSERT INTO kit_missing (id) VALUES (1)"),
        Statement::new("INSERT INTO"),
        insert(1, "violates the primary key"),
        Statement::new("INSERT INTO kit_rows (id, note) VALUES (7, 'x'); DELETE FROM kit_rows"),
    ];
    for wrong in wrong {
        let text = wrong.sql.clone();
        let error = tables.refuses(vec![insert(2, ""), wrong], ErrorKind::Statement, &text).await;
        let statement = error.statement().expect("the error names the statement");
        assert_eq!((statement.index, &*statement.sql), (1, &*text));
        assert!(!error.is_transient(), "{error}");
    }
    tables.save([insert(2, "b")]).await.expect("the next save");
}

async fn neighbours(kit: EngineContext) {
    let tables = Tables::new(&kit).await;
    let node = kit.join(&tables.engine).await;
    let mut saves = JoinSet::new();
    for task in 0..120_i64 {
        let owned = kit.own(&tables.engine, &node, &entity(&format!("neighbour-{task:03}"))).await;
        saves.spawn(async move {
            let also = match task % 6 {
                1 => vec![insert(task, ""), insert(task, "")],
                3 => vec![insert(task, ""), Statement::new("nonsense")],
                5 => vec![insert(task, "").expect_rows(2)],
                _ => vec![insert(task, "")],
            };
            (task, save(&owned, None, also).await.map_err(|error| error.kind()).err())
        });
    }
    for (task, found) in saves.join_all().await {
        let expected = match task % 6 {
            1 | 3 => Some(ErrorKind::Statement),
            5 => Some(ErrorKind::RowCount),
            _ => None,
        };
        assert_eq!(found, expected, "save {task}");
    }
    let expected: Vec<i64> = (0..120).filter(|task| task % 2 == 0).collect();
    assert_eq!(rows(&tables.engine).await.into_iter().map(|row| row.0).collect::<Vec<_>>(), expected);
}

async fn arguments(kit: EngineContext) {
    let mut tables = Tables::new(&kit).await;
    let text = "INSERT INTO kit_rows (note, id, amount, body) VALUES ($2, $1, $4, $3)";
    let blob = Bytes::from_static(&[0, 255, 1]);
    let row = Statement::new(text).bind(i64::MIN).bind("é\0 $1 ?").bind(blob.clone()).bind(0.1);
    let row = if text_may_contain_nul(&tables).await { row } else { row.replace_arg(1, "é $1 ?") };
    let note = row.args[1].clone();
    tables.etag = Some(tables.save([row]).await.expect("arguments in another order"));
    let nulls = Statement::new(text).bind(2).bind(Value::Null).bind(Value::Null).bind(Value::Null);
    tables.etag = Some(tables.save([nulls]).await.expect("nulls"));
    let select =
        "SELECT id, note, amount, body FROM kit_rows WHERE id = $2 OR note = $1 OR id = $2 ORDER BY id";
    let args = [note.clone(), Value::Int(2)];
    let found = sql(&tables.engine).query(select, &args).await.expect("a query with arguments");
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].values(), [Value::Int(i64::MIN), note, Value::Real(0.1), Value::Blob(blob)]);
    assert_eq!(found[1].values(), [Value::Int(2), Value::Null, Value::Null, Value::Null]);
    let delete = || Statement::new("DELETE FROM kit_rows WHERE id = $1");
    tables.refuses(vec![delete()], ErrorKind::Statement, "a missing argument").await;
    tables.refuses(vec![delete().bind(2).bind(3)], ErrorKind::Statement, "an unused argument").await;
    let missing = sql(&tables.engine).query("SELECT id FROM kit_rows WHERE id = $1", &[]).await;
    refused(missing, ErrorKind::Statement, "a query with a missing argument");
}

/// PostgreSQL has no texts with the character zero.
async fn text_may_contain_nul(tables: &Tables) -> bool {
    sql(&tables.engine).query("SELECT id FROM kit_rows WHERE note = $1", &["\0".into()]).await.is_ok()
}

trait ReplaceArg {
    fn replace_arg(self, at: usize, value: &str) -> Self;
}

impl ReplaceArg for Statement {
    fn replace_arg(mut self, at: usize, value: &str) -> Self {
        self.args[at] = value.into();
        self
    }
}

async fn transactions(kit: EngineContext) {
    let mut tables = Tables::new(&kit).await;
    for text in ["COMMIT", "/* x */ ROLLBACK", "BEGIN", "-- x\n  savepoint a", "END", "RELEASE application"] {
        let statement = Statement::new(text);
        tables.refuses(vec![insert(1, ""), statement], ErrorKind::Statement, text).await;
    }
    tables.etag = Some(tables.save([insert(1, "")]).await.expect("the next save"));
    assert_eq!(rows(&tables.engine).await.len(), 1);
}

async fn reads(kit: EngineContext) {
    let tables = Tables::new(&kit).await;
    for text in
        ["INSERT INTO kit_rows (id) VALUES (1)", "DROP TABLE kit_rows", "CREATE TABLE kit_other (id BIGINT)"]
    {
        sql(&tables.engine).query(text, &[]).await.expect_err(text);
    }
    assert_eq!(rows(&tables.engine).await, []);
    refused(
        sql(&tables.engine).query("SELECT FROM WHERE", &[]).await.map(|rows| rows.len()),
        ErrorKind::Statement,
        "nonsense",
    );
}
