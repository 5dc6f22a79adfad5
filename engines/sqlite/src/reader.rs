//! Reads on separate connections, without raising a fence.

use bytes::Bytes;
use dactor_engine::{EntityId, Page, Placement, Stored};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::Fault;
use crate::requests::{etag, generation, node};

pub(crate) fn lookup(state: &Connection, id: &EntityId) -> Result<Option<Placement>, Fault> {
    let sql =
        "SELECT generation, owner, address FROM directory WHERE namespace = ?1 AND type = ?2 AND key = ?3";
    let row = |row: &Row<'_>| Ok(Placement { generation: generation(row, 0)?, owner: node(row, 1, 2)? });
    let key = [id.namespace(), id.actor_type(), id.key()];
    Ok(state.prepare_cached(sql)?.query_row(key, row).optional()?)
}

pub(crate) fn read(state: &Connection, id: &EntityId) -> Result<Option<Stored>, Fault> {
    let sql = "SELECT fence, etag, body FROM state WHERE namespace = ?1 AND type = ?2 AND key = ?3";
    let row = |row: &Row<'_>| {
        let body = row.get::<_, Option<Vec<u8>>>(2)?.map(Bytes::from);
        Ok(Stored { fence: generation(row, 0)?, etag: etag(row, 1)?, body })
    };
    let key = [id.namespace(), id.actor_type(), id.key()];
    Ok(state.prepare_cached(sql)?.query_row(key, row).optional()?)
}

pub(crate) fn list(
    state: &Connection,
    namespace: &str,
    actor_type: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Page, Fault> {
    // The empty string sorts before every key.
    let sql = "SELECT key FROM state WHERE namespace = ?1 AND type = ?2 AND key > ?3 AND body IS NOT NULL
        ORDER BY key LIMIT ?4";
    let mut statement = state.prepare_cached(sql)?;
    let most = i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX);
    let keys =
        statement.query_map(params![namespace, actor_type, after.unwrap_or(""), most], |row| row.get(0))?;
    Ok(Page::new(keys.collect::<rusqlite::Result<_>>()?, limit))
}
