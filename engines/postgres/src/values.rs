//! Conversion of the engine's values in parameters and rows.

use std::error::Error;

use bytes::{Bytes, BytesMut};
use dactor_engine::{ClaimToken, ErrorKind, Etag, Generation, Incarnation, NodeId};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

use crate::error::Fault;

/// Sixteen bytes as a `uuid`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Uuid([u8; 16]);

impl From<Etag> for Uuid {
    fn from(etag: Etag) -> Self {
        Self(etag.to_bytes())
    }
}

impl From<ClaimToken> for Uuid {
    fn from(token: ClaimToken) -> Self {
        Self(token.to_bytes())
    }
}

impl ToSql for Uuid {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    accepts!(UUID);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Uuid {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(raw.try_into()?))
    }

    accepts!(UUID);
}

/// Converts an unsigned number of the engine. Generations and incarnations fit.
pub(crate) fn int8(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Reads a column of a row.
pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, Fault> {
    row.try_get(column).map_err(|error| Fault::new(ErrorKind::Serialization, error.to_string()))
}

pub(crate) fn number(row: &Row, column: usize) -> Result<u64, Fault> {
    u64::try_from(get::<i64>(row, column)?).map_err(|_| invalid(column))
}

pub(crate) fn generation(row: &Row, column: usize) -> Result<Generation, Fault> {
    Generation::new(number(row, column)?).ok_or_else(|| invalid(column))
}

pub(crate) fn incarnation(row: &Row, column: usize) -> Result<Incarnation, Fault> {
    Incarnation::new(number(row, column)?).ok_or_else(|| invalid(column))
}

pub(crate) fn etag(row: &Row, column: usize) -> Result<Option<Etag>, Fault> {
    Ok(get::<Option<Uuid>>(row, column)?.map(|Uuid(bytes)| Etag::from_bytes(bytes)))
}

pub(crate) fn token(row: &Row, column: usize) -> Result<Option<ClaimToken>, Fault> {
    Ok(get::<Option<Uuid>>(row, column)?.map(|Uuid(bytes)| ClaimToken::from_bytes(bytes)))
}

pub(crate) fn body(row: &Row, column: usize) -> Result<Option<Bytes>, Fault> {
    Ok(get::<Option<&[u8]>>(row, column)?.map(Bytes::copy_from_slice))
}

/// Reads a node, whose address is in another column; `None` for `NULL`.
pub(crate) fn node(row: &Row, column: usize, address: usize) -> Result<Option<NodeId>, Fault> {
    if get::<Option<i64>>(row, column)?.is_none() {
        return Ok(None);
    }
    let incarnation = incarnation(row, column)?;
    Ok(Some(NodeId::new(get(row, address)?, incarnation)))
}

fn invalid(column: usize) -> Fault {
    Fault::new(ErrorKind::Serialization, format!("the number in column {column} is out of range"))
}
