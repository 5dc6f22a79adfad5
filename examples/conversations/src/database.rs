//! A pool of plain connections, without actors and without a fence: what the naive path works with.

use std::error::Error;
use std::fmt;

use async_trait::async_trait;
use dactor::cluster::engine::{Row, Statement, Value};

mod postgres;
mod sqlite;

pub use postgres::PostgresPool;
pub use sqlite::SqlitePool;

/// A pool of connections to a database.
#[async_trait]
pub trait Database: Send + Sync {
    /// Runs a query by itself.
    async fn query(&self, sql: &'static str, args: Vec<Value>) -> Result<Vec<Row>, DatabaseError>;

    /// Runs statements in one transaction, and checks the numbers of rows that they expect.
    async fn transaction(&self, statements: Vec<Statement>) -> Result<(), DatabaseError>;

    /// How many connections there are, and how many of them are in use.
    fn usage(&self) -> (usize, usize);
}

/// Why the database did not do it.
#[derive(Debug)]
pub enum DatabaseError {
    /// A statement changed another number of rows than it expects. The transaction was rolled back.
    RowCount,
    /// The database is busy or cannot be reached. The same may succeed later.
    Unavailable(Box<dyn Error + Send + Sync>),
    /// The statement is wrong, or does not fit the tables.
    Failed(Box<dyn Error + Send + Sync>),
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RowCount => f.write_str("a statement changed another number of rows than it expects"),
            Self::Unavailable(error) => write!(f, "the database is not available: {error}"),
            Self::Failed(error) => write!(f, "the database failed: {error}"),
        }
    }
}

impl Error for DatabaseError {}
