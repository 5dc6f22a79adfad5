//! Fenced SQL of the application.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{EntityId, Etag, Generation, StateStore, StorageError};

/// A [`StateStore`] in an SQL database: an activation writes tables of the application in the transaction of
/// its save.
///
/// Parameters are written `$1` to `$n` on every database, and each argument needs its parameter. Each
/// [`Statement`] is a single SQL statement. It cannot begin or end a transaction, and cannot access the
/// tables of the engine.
#[async_trait]
pub trait FencedSql: StateStore {
    /// [Saves](StateStore::save) and runs the statements atomically in one transaction.
    ///
    /// The statements run in order, after the condition of the save is checked: if the save is
    /// [`Fenced`](crate::ErrorKind::Fenced) or a [`Conflict`](crate::ErrorKind::Conflict), none of them runs.
    /// Therefore the same call can be retried after [`UnknownOutcome`](crate::ErrorKind::UnknownOutcome), by
    /// [`settle::write_with`](crate::settle::write_with), and the statements still run once.
    ///
    /// # Errors
    ///
    /// Those of [`save`](StateStore::save); [`Statement`](crate::ErrorKind::Statement) if a statement fails,
    /// and [`RowCount`](crate::ErrorKind::RowCount) if it changes a different number of rows than
    /// [expected](Statement::expect_rows). The error [names the statement](StorageError::statement). Saves of
    /// other entities in the same group commit are not affected.
    async fn save_with(
        &self,
        id: &EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
        body: Bytes,
        also: Arc<[Statement]>,
    ) -> Result<(), StorageError>;

    /// Runs a read-only query, and returns all rows.
    ///
    /// Not fenced: sees rows committed by any activation, and its result may be out of date. An activation
    /// that queries after opening its state sees all commits of earlier activations.
    ///
    /// # Errors
    ///
    /// [`Statement`](crate::ErrorKind::Statement) if the query is invalid or would write.
    async fn query(&self, sql: &str, args: &[Value]) -> Result<Vec<Row>, StorageError>;
}

/// An SQL statement with its arguments.
///
/// ```
/// use dactor_engine::Statement;
///
/// let statement = Statement::new("UPDATE seats SET guest = $2 WHERE number = $1 AND guest IS NULL")
///     .bind(12)
///     .bind("Ada")
///     .expect_rows(1);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The SQL text, with the parameters `$1` to `$n`.
    pub sql: Cow<'static, str>,
    /// The arguments: the first one is `$1`.
    pub args: Vec<Value>,
    /// The expected number of changed rows; any number if `None`.
    pub expect_rows: Option<u64>,
}

impl Statement {
    /// A statement without arguments.
    pub fn new(sql: impl Into<Cow<'static, str>>) -> Self {
        Self { sql: sql.into(), args: Vec::new(), expect_rows: None }
    }

    /// Adds the next argument.
    #[must_use]
    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.args.push(value.into());
        self
    }

    /// Sets the expected number of changed rows. A different number fails the whole save.
    #[must_use]
    pub fn expect_rows(mut self, rows: u64) -> Self {
        self.expect_rows = Some(rows);
        self
    }
}

/// An SQL value.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    /// `NULL`.
    #[default]
    Null,
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Real(f64),
    /// A string.
    Text(String),
    /// Bytes.
    Blob(Bytes),
}

impl Value {
    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        if let Self::Int(value) = self { Some(*value) } else { None }
    }

    /// The number, if it is one.
    pub fn as_real(&self) -> Option<f64> {
        match self {
            Self::Real(value) => Some(*value),
            Self::Int(value) => Some(*value as f64),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(value) = self { Some(value) } else { None }
    }

    /// The bytes, if it has them.
    pub fn as_blob(&self) -> Option<&Bytes> {
        if let Self::Blob(value) = self { Some(value) } else { None }
    }

    /// Whether it is `NULL`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

macro_rules! from {
    ($($type:ty => $value:ident => $variant:expr,)*) => {$(
        impl From<$type> for Value {
            fn from($value: $type) -> Self {
                $variant
            }
        }
    )*};
}

from! {
    i64 => value => Self::Int(value),
    i32 => value => Self::Int(value.into()),
    u32 => value => Self::Int(value.into()),
    f64 => value => Self::Real(value),
    String => value => Self::Text(value),
    &str => value => Self::Text(value.to_owned()),
    Bytes => value => Self::Blob(value),
    Vec<u8> => value => Self::Blob(value.into()),
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A row of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    columns: Arc<[Box<str>]>,
    values: Vec<Value>,
}

impl Row {
    /// Creates a row. For engines, which share the column names between rows.
    pub fn new(columns: Arc<[Box<str>]>, values: Vec<Value>) -> Self {
        Self { columns, values }
    }

    /// The names of the columns.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|name| &**name)
    }

    /// The values, in the order of the columns.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The value in a column, by index; `NULL` if there is no such column.
    pub fn at(&self, column: usize) -> &Value {
        self.values.get(column).unwrap_or(&Value::Null)
    }

    /// The value in a column, by name; `NULL` if there is no such column.
    pub fn get(&self, column: &str) -> &Value {
        self.columns.iter().position(|name| **name == *column).map_or(&Value::Null, |at| self.at(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_by_name_and_by_number() {
        let row = Row::new(
            Arc::new(["a".into(), "b".into()]),
            vec![Value::from(3), Value::from(Some("x")), Value::Null],
        );
        assert_eq!((row.get("a").as_int(), row.at(1).as_text()), (Some(3), Some("x")));
        assert!(row.get("c").is_null() && row.at(9).is_null());
        assert_eq!(Value::from(None::<i64>), Value::Null);
    }
}
