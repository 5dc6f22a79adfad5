use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use dactor::cluster::engine::{Row, Statement, Value};
use tokio::sync::Semaphore;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, NoTls};

use super::{Database, DatabaseError};

/// How long a request waits for the database.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Connections to PostgreSQL, made when they are needed. A connection that breaks is replaced by the next request.
#[derive(Debug)]
pub struct PostgresPool {
    config: Config,
    idle: Mutex<Vec<Client>>,
    free: Semaphore,
    size: usize,
}

impl PostgresPool {
    /// At most this many connections.
    pub fn new(url: &str, size: usize) -> Result<Self, DatabaseError> {
        let mut config: Config = url.parse().map_err(failed)?;
        config.connect_timeout(TIMEOUT);
        Ok(Self { config, idle: Mutex::default(), free: Semaphore::new(size), size })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Client>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<Client, DatabaseError> {
        let (client, connection) = self.config.connect(NoTls).await.map_err(failed)?;
        // It ends with the client.
        tokio::spawn(connection);
        let settings = "SET synchronous_commit = on; SET statement_timeout = '10s'";
        client.batch_execute(settings).await.map_err(failed)?;
        Ok(client)
    }

    /// Gives a connection to the job, and takes it back unless it failed: a broken transaction ends with its connection.
    async fn run<T>(
        &self,
        job: impl AsyncFnOnce(&mut Client) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let late = |_| DatabaseError::Unavailable("the database did not answer in time".into());
        let work = async {
            let _permit =
                self.free.acquire().await.map_err(|error| DatabaseError::Unavailable(error.into()))?;
            let idle = self.idle().pop().filter(|client| !client.is_closed());
            let mut client = match idle {
                Some(client) => client,
                None => self.connect().await?,
            };
            let result = job(&mut client).await;
            if matches!(result, Ok(_) | Err(DatabaseError::RowCount)) {
                self.idle().push(client);
            }
            result
        };
        tokio::time::timeout(TIMEOUT, work).await.map_err(late)?
    }
}

#[async_trait]
impl Database for PostgresPool {
    async fn query(&self, sql: &'static str, args: Vec<Value>) -> Result<Vec<Row>, DatabaseError> {
        self.run(async |client: &mut Client| {
            let args: Vec<_> = args.iter().map(Argument).collect();
            let args: Vec<&(dyn ToSql + Sync)> = args.iter().map(|arg| arg as _).collect();
            let rows = client.query(sql, &args).await.map_err(failed)?;
            rows.iter().map(row).collect()
        })
        .await
    }

    async fn transaction(&self, statements: Vec<Statement>) -> Result<(), DatabaseError> {
        self.run(async |client: &mut Client| {
            let transaction = client.transaction().await.map_err(failed)?;
            for statement in &statements {
                let args: Vec<_> = statement.args.iter().map(Argument).collect();
                let args: Vec<&(dyn ToSql + Sync)> = args.iter().map(|arg| arg as _).collect();
                let rows = transaction.execute(&*statement.sql, &args).await.map_err(failed)?;
                if statement.expect_rows.is_some_and(|expected| expected != rows) {
                    transaction.rollback().await.map_err(failed)?;
                    return Err(DatabaseError::RowCount);
                }
            }
            transaction.commit().await.map_err(failed)
        })
        .await
    }

    fn usage(&self) -> (usize, usize) {
        (self.size, self.size - self.free.available_permits())
    }
}

/// The server says what is wrong with a statement by classes 22, 23 and 42. Everything else may pass.
fn failed(error: tokio_postgres::Error) -> DatabaseError {
    let class = error.code().map(|code| code.code().get(..2).unwrap_or_default());
    let text = match error.as_db_error() {
        Some(database) => format!("{}: {}", database.severity(), database.message()),
        None => match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    };
    match class {
        Some("22" | "23" | "42") => DatabaseError::Failed(text.into()),
        _ => DatabaseError::Unavailable(text.into()),
    }
}

/// A value of any type that a parameter may have.
#[derive(Debug)]
struct Argument<'a>(&'a Value);

impl ToSql for Argument<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(value) if *kind == Type::INT4 => i32::try_from(*value)?.to_sql(kind, out),
            Value::Int(value) => value.to_sql(kind, out),
            Value::Real(value) => value.to_sql(kind, out),
            Value::Text(value) => value.as_str().to_sql(kind, out),
            Value::Blob(value) => (&**value).to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT4, Type::INT8, Type::FLOAT8, Type::TEXT, Type::BYTEA].contains(kind)
    }

    to_sql_checked!();
}

fn row(row: &tokio_postgres::Row) -> Result<Row, DatabaseError> {
    let columns: Arc<[Box<str>]> = row.columns().iter().map(|column| column.name().into()).collect();
    let values = row.columns().iter().enumerate().map(|(at, column)| match *column.type_() {
        Type::INT4 => Ok(get::<i32>(row, at)?.into()),
        Type::INT8 => Ok(get::<i64>(row, at)?.into()),
        Type::FLOAT8 => Ok(get::<f64>(row, at)?.into()),
        Type::TEXT => Ok(get::<String>(row, at)?.into()),
        Type::BYTEA => Ok(get::<Vec<u8>>(row, at)?.map(Bytes::from).into()),
        ref other => Err(DatabaseError::Failed(format!("a column of the type {other}").into())),
    });
    Ok(Row::new(columns, values.collect::<Result<_, _>>()?))
}

fn get<'a, T: FromSql<'a>>(row: &'a tokio_postgres::Row, at: usize) -> Result<Option<T>, DatabaseError> {
    row.try_get(at).map_err(failed)
}
