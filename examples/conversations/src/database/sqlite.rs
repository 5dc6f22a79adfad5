use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use dactor::cluster::engine::{Row, Statement, Value};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ErrorCode, OpenFlags, ToSql};
use tokio::sync::Semaphore;

use super::{Database, DatabaseError};

/// Connections to an SQLite file, with the durability of the engine: WAL and `synchronous=FULL`.
#[derive(Debug)]
pub struct SqlitePool {
    connections: Arc<Mutex<Vec<Connection>>>,
    free: Arc<Semaphore>,
    size: usize,
}

impl SqlitePool {
    /// Opens this many connections to a file that exists.
    pub fn open(file: &Path, size: usize) -> rusqlite::Result<Self> {
        let connect = || {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(file, flags)?;
            connection.busy_timeout(Duration::from_secs(10))?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.pragma_update(None, "wal_autocheckpoint", 4000)?;
            Ok(connection)
        };
        let connections = (0..size).map(|_| connect()).collect::<rusqlite::Result<Vec<_>>>()?;
        let free = Arc::new(Semaphore::new(size));
        Ok(Self { connections: Arc::new(Mutex::new(connections)), free, size })
    }

    async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> Result<T, DatabaseError> + Send + 'static,
    ) -> Result<T, DatabaseError> {
        let closed = |error| DatabaseError::Unavailable(Box::new(error));
        let permit = self.free.clone().acquire_owned().await.map_err(closed)?;
        let connections = self.connections.clone();
        let run = move || {
            let pool = || connections.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(mut connection) = pool().pop() else {
                return Err(DatabaseError::Unavailable("the pool is empty".into()));
            };
            let result = job(&mut connection);
            pool().push(connection);
            drop(permit);
            result
        };
        let joined = tokio::task::spawn_blocking(run).await;
        joined.unwrap_or_else(|error| Err(DatabaseError::Failed(Box::new(error))))
    }
}

#[async_trait]
impl Database for SqlitePool {
    async fn query(&self, sql: &'static str, args: Vec<Value>) -> Result<Vec<Row>, DatabaseError> {
        self.run(move |connection| query(connection, sql, &args).map_err(failed)).await
    }

    async fn transaction(&self, statements: Vec<Statement>) -> Result<(), DatabaseError> {
        self.run(move |connection| {
            let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate);
            let transaction = transaction.map_err(failed)?;
            for statement in &statements {
                let mut prepared = prepare(&transaction, &statement.sql, &statement.args).map_err(failed)?;
                let rows = prepared.raw_execute().map_err(failed)?;
                // Dropped, the transaction is rolled back.
                if statement.expect_rows.is_some_and(|expected| expected != rows as u64) {
                    return Err(DatabaseError::RowCount);
                }
            }
            transaction.commit().map_err(failed)
        })
        .await
    }

    fn usage(&self) -> (usize, usize) {
        (self.size, self.size - self.free.available_permits())
    }
}

fn failed(error: rusqlite::Error) -> DatabaseError {
    use ErrorCode::{CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, SystemIoFailure};
    match error.sqlite_error_code() {
        Some(DatabaseBusy | DatabaseLocked | DiskFull | SystemIoFailure | CannotOpen) => {
            DatabaseError::Unavailable(Box::new(error))
        }
        _ => DatabaseError::Failed(Box::new(error)),
    }
}

fn query(connection: &Connection, sql: &str, args: &[Value]) -> rusqlite::Result<Vec<Row>> {
    let mut prepared = prepare(connection, sql, args)?;
    let columns: Arc<[Box<str>]> = prepared.column_names().map(Box::from).collect();
    let mut found = Vec::new();
    let mut rows = prepared.raw_query();
    while let Some(row) = rows.next()? {
        let values = (0..columns.len()).map(|column| Ok(value(row.get_ref(column)?)));
        found.push(Row::new(columns.clone(), values.collect::<rusqlite::Result<_>>()?));
    }
    Ok(found)
}

/// Binds by name: SQLite numbers `$2, $1` in the order in which they appear.
fn prepare<'a>(
    connection: &'a Connection,
    sql: &str,
    args: &[Value],
) -> rusqlite::Result<CachedStatement<'a>> {
    let mut prepared = connection.prepare_cached(sql)?;
    for (at, arg) in args.iter().enumerate() {
        let name = format!("${}", at + 1);
        let index = prepared.parameter_index(&name)?;
        let index = index.ok_or(rusqlite::Error::InvalidParameterName(name))?;
        prepared.raw_bind_parameter(index, Argument(arg))?;
    }
    Ok(prepared)
}

struct Argument<'a>(&'a Value);

impl ToSql for Argument<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Int(value) => ValueRef::Integer(*value),
            Value::Real(value) => ValueRef::Real(*value),
            Value::Text(value) => ValueRef::Text(value.as_bytes()),
            Value::Blob(value) => ValueRef::Blob(value),
        }))
    }
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Blob(value) => Value::Blob(Bytes::copy_from_slice(value)),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
    }
}
