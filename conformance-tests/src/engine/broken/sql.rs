//! Deliberately broken SQL: each is an engine under test with one flaw.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use dactor_engine::{
    Claim, ClaimToken, Engine, EntityId, ErrorKind, Etag, FencedSql, Generation, NodeId, Opened, Operation,
    Page, Row, StateStore, Statement, StorageError, Stored, Value,
};

use super::{BrokenEngine, flaw};
use crate::engine::{EngineSubject, TestStore};

/// All flaws of SQL. A flaw is put on an engine that has SQL.
pub static BROKEN_SQL: &[BrokenEngine] = &[
    flaw("drops-the-statements", "saves without the statements"),
    flaw("runs-statements-of-refused-saves", "runs the statements of a save that was refused"),
    flaw("runs-statements-twice", "runs the statements of a repeated save again"),
    flaw("ignores-row-counts", "does not look at the number of rows"),
    flaw("saves-in-spite-of-a-statement", "saves the state when a statement fails"),
    flaw("hides-the-statement", "does not say which statement failed"),
    flaw("fails-the-neighbours-of-a-statement", "fails the save after a statement that failed"),
    flaw("binds-in-order-of-appearance", "takes the parameters for names in the order of their appearance"),
    flaw("lets-statements-commit", "does not look for the end of the transaction"),
    flaw("query-writes", "runs any statement as a query"),
];

/// A subject with one flaw in its SQL.
pub(crate) struct BrokenSql {
    pub(crate) flaw: &'static str,
    pub(crate) subject: Arc<dyn EngineSubject>,
}

impl EngineSubject for BrokenSql {
    fn name(&self) -> &'static str {
        self.flaw
    }

    fn store(&self) -> Arc<dyn TestStore> {
        Arc::new(BrokenStore { flaw: self.flaw, store: self.subject.store() })
    }
}

struct BrokenStore {
    flaw: &'static str,
    store: Arc<dyn TestStore>,
}

#[async_trait]
impl TestStore for BrokenStore {
    async fn open(&self) -> Engine {
        let inner = self.store.open().await;
        let sql = FlawedSql {
            flaw: self.flaw,
            inner: inner.clone(),
            seen: Mutex::default(),
            failed: AtomicBool::new(false),
        };
        Engine { sql: Some(Arc::new(sql)), ..inner }
    }

    fn ttl(&self) -> Duration {
        self.store.ttl()
    }

    async fn advance(&self, by: Duration) {
        self.store.advance(by).await;
    }
}

struct FlawedSql {
    flaw: &'static str,
    inner: Engine,
    seen: Mutex<HashSet<[u8; 16]>>,
    failed: AtomicBool,
}

impl FlawedSql {
    fn sql(&self) -> &dyn FencedSql {
        self.inner.sql.as_deref().expect("the subject says that its engine has SQL")
    }

    /// Runs statements apart from any save of the rule.
    async fn aside(&self, statements: Arc<[Statement]>) {
        let node = NodeId::start("aside:1");
        let ttl = Duration::from_secs(60);
        self.inner.membership.join("aside", &node, ttl).await.expect("a new node joins");
        let key = format!("{}", node.incarnation().get());
        let (id, token) = (EntityId::new("aside", "Aside", &key).expect("a valid id"), ClaimToken::random());
        let claimed = self.inner.directory.claim(&id, &node, token).await;
        let Ok(Claim::Granted(generation)) = claimed else { panic!("not granted: {claimed:?}") };
        self.inner.state.open(&id, generation, token).await.expect("a state opens");
        // The rule sees whether it has changed anything.
        let _ = self.sql().save_with(&id, generation, None, Etag::random(), "".into(), statements).await;
    }

    fn change(&self, statement: &Statement) -> Option<Statement> {
        let mut statement = statement.clone();
        match self.flaw {
            "ignores-row-counts" => statement.expect_rows = None,
            "binds-in-order-of-appearance" => statement.args = by_appearance(&statement),
            "lets-statements-commit" => {
                let text = statement.sql.to_ascii_uppercase();
                if ["COMMIT", "ROLLBACK", "BEGIN"].iter().any(|word| text.ends_with(word)) {
                    return None;
                }
            }
            _ => {}
        }
        Some(statement)
    }
}

fn by_appearance(statement: &Statement) -> Vec<Value> {
    let mut names: Vec<usize> = Vec::new();
    for part in statement.sql.split('$').skip(1) {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        match digits.parse() {
            Ok(number) if !names.contains(&number) => names.push(number),
            _ => {}
        }
    }
    let mut args = statement.args.clone();
    for (at, number) in names.into_iter().enumerate() {
        if let (Some(arg), Some(from)) = (args.get_mut(number - 1), statement.args.get(at)) {
            arg.clone_from(from);
        }
    }
    args
}

impl fmt::Debug for FlawedSql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlawedSql").field("flaw", &self.flaw).finish_non_exhaustive()
    }
}

#[async_trait]
impl FencedSql for FlawedSql {
    async fn save_with(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
        body: Bytes,
        also: Arc<[Statement]>,
    ) -> Result<(), StorageError> {
        let plain = || self.inner.state.save(id, generation, read, new, body.clone());
        let is_ddl = also.iter().any(|statement| statement.sql.starts_with("CREATE"));
        if self.flaw == "drops-the-statements" && !is_ddl {
            return plain().await;
        }
        let failed = self.failed.swap(false, Ordering::Relaxed);
        if self.flaw == "fails-the-neighbours-of-a-statement" && failed {
            return Err(StorageError::new(ErrorKind::Statement, Operation::Save).on(id));
        }
        let again = !self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(new.to_bytes());
        if self.flaw == "runs-statements-twice" && again {
            self.aside(also.clone()).await;
        }
        let changed = also.iter().filter_map(|statement| self.change(statement)).collect();
        let result = self.sql().save_with(id, generation, read, new, body.clone(), changed).await;
        let Err(error) = result else { return Ok(()) };
        match (self.flaw, error.kind()) {
            (
                "runs-statements-of-refused-saves",
                ErrorKind::Fenced | ErrorKind::Conflict | ErrorKind::NotFound,
            ) => self.aside(also).await,
            ("saves-in-spite-of-a-statement", ErrorKind::Statement | ErrorKind::RowCount) => plain().await?,
            ("hides-the-statement", kind) => return Err(StorageError::new(kind, Operation::Save)),
            (_, ErrorKind::Statement | ErrorKind::RowCount) => self.failed.store(true, Ordering::Relaxed),
            _ => {}
        }
        Err(error)
    }

    async fn query(&self, sql: &str, args: &[Value]) -> Result<Vec<Row>, StorageError> {
        if self.flaw == "query-writes" && !sql.starts_with("SELECT") {
            self.aside(Arc::new([Statement::new(sql.to_owned())])).await;
            return Ok(Vec::new());
        }
        self.sql().query(sql, args).await
    }
}

#[async_trait]
impl StateStore for FlawedSql {
    async fn open(
        &self,
        id: &EntityId,
        generation: Generation,
        token: ClaimToken,
    ) -> Result<Opened, StorageError> {
        self.inner.state.open(id, generation, token).await
    }

    async fn save(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
        body: Bytes,
    ) -> Result<(), StorageError> {
        self.inner.state.save(id, generation, read, new, body).await
    }

    async fn clear(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
    ) -> Result<(), StorageError> {
        self.inner.state.clear(id, generation, read, new).await
    }

    async fn read(&self, id: &EntityId) -> Result<Option<Stored>, StorageError> {
        self.inner.state.read(id).await
    }

    async fn list(
        &self,
        namespace: &str,
        actor_type: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page, StorageError> {
        self.inner.state.list(namespace, actor_type, after, limit).await
    }
}
