//! The statements on `state.db`, which run in the writer's transaction.

use std::sync::Arc;

use bytes::Bytes;
use dactor_engine::decide::{self, ClaimDecision, OpenDecision, PlacementRow, Standing};
use dactor_engine::{
    Claim, ClaimToken, EntityId, ErrorKind, Etag, Generation, Incarnation, NodeId, Opened, Operation,
    Statement,
};
use rusqlite::types::{FromSqlError, Type};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::engine::Settings;
use crate::error::Fault;
use crate::sql;

/// A request to the writer.
#[derive(Debug)]
pub(crate) enum Request {
    Claim {
        id: EntityId,
        node: NodeId,
        token: ClaimToken,
    },
    Release {
        id: EntityId,
        generation: Generation,
    },
    Open {
        id: EntityId,
        generation: Generation,
        token: ClaimToken,
    },
    /// A save; a clear if it has no body.
    Write {
        id: EntityId,
        generation: Generation,
        read: Option<Etag>,
        new: Etag,
        body: Option<Bytes>,
        also: Arc<[Statement]>,
    },
    /// Finds the nodes that own nothing.
    Unowned(Vec<Incarnation>),
    Settings,
}

/// The reply of the writer; the variant matches the request.
#[derive(Debug)]
pub(crate) enum Reply {
    Claimed(Claim),
    Released(bool),
    Opened(Opened),
    Written,
    Unowned(Vec<Incarnation>),
    Settings(Settings),
}

impl Request {
    pub(crate) fn operation(&self) -> Operation {
        match self {
            Self::Claim { .. } => Operation::Claim,
            Self::Release { .. } => Operation::Release,
            Self::Open { .. } => Operation::Open,
            Self::Write { body: Some(_), .. } => Operation::Save,
            Self::Write { body: None, .. } => Operation::Clear,
            Self::Unowned(_) => Operation::Join,
            Self::Settings => Operation::Read,
        }
    }

    /// Runs the request. The outer error is SQLite's; the inner one refuses the request without a change.
    pub(crate) fn execute(
        &self,
        state: &Connection,
        leases: &Connection,
    ) -> rusqlite::Result<Result<Reply, Fault>> {
        match self {
            Self::Claim { id, node, token } => claim(state, leases, id, node, *token),
            Self::Release { id, generation } => release(state, id, *generation),
            Self::Open { id, generation, token } => open(state, id, *generation, *token),
            Self::Write { id, generation, read, new, body, also } => {
                let save = || write(state, id, (*generation, *read, *new), body.as_deref());
                if also.is_empty() { save() } else { sql::save_with(state, save, also) }
            }
            Self::Unowned(nodes) => unowned(state, nodes),
            Self::Settings => Settings::read(state).map(|settings| Ok(Reply::Settings(settings))),
        }
    }
}

fn claim(
    state: &Connection,
    leases: &Connection,
    id: &EntityId,
    node: &NodeId,
    token: ClaimToken,
) -> rusqlite::Result<Result<Reply, Fault>> {
    let row = placement(state, id)?;
    let standing = |node: &NodeId| standing(leases, id.namespace(), node.incarnation());
    let owner = row.as_ref().and_then(|row| row.owner.as_ref());
    let standings = owner
        .map_or(Ok(Standing::Unknown), |(owner, _)| standing(owner))
        .and_then(|owner| Ok((owner, standing(node)?)));
    let (owner, claimant) = match standings {
        Ok(standings) => standings,
        // The transaction on `state.db` is not affected.
        Err(error) => return Ok(Err(error.into())),
    };
    Ok(match decide::claim(row.as_ref(), owner, claimant, node, token) {
        ClaimDecision::Grant(generation) => {
            let sql =
                "INSERT INTO directory (namespace, type, key, generation, owner, address, token, change)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT coalesce(max(change), 0) + 1 FROM directory))
                ON CONFLICT (namespace, type, key) DO UPDATE SET generation = excluded.generation,
                    owner = excluded.owner, address = excluded.address, token = excluded.token,
                    change = excluded.change";
            let (owner, token) = (node.incarnation().get(), token.to_bytes());
            let generation_number = generation.get();
            state.prepare_cached(sql)?.execute(params![
                id.namespace(),
                id.actor_type(),
                id.key(),
                generation_number,
                owner,
                node.address(),
                token
            ])?;
            Ok(Reply::Claimed(Claim::Granted(generation)))
        }
        ClaimDecision::Repeat(generation) => Ok(Reply::Claimed(Claim::Granted(generation))),
        ClaimDecision::OwnedElsewhere => match row {
            Some(PlacementRow { generation, owner: Some((owner, _)) }) => {
                Ok(Reply::Claimed(Claim::OwnedElsewhere { owner, generation }))
            }
            _ => Err(Fault::new(ErrorKind::Serialization, "an entity without an owner is owned elsewhere")),
        },
        ClaimDecision::Refuse => {
            let state = if claimant == Standing::Dead { "dead" } else { "not a member of the namespace" };
            Err(Fault::new(ErrorKind::Fenced, format!("{node} is {state}")))
        }
        ClaimDecision::Exhausted => Err(Fault::new(ErrorKind::TooLarge, "all generations are used up")),
    })
}

fn placement(state: &Connection, id: &EntityId) -> rusqlite::Result<Option<PlacementRow>> {
    let sql = "SELECT generation, owner, address, token FROM directory
        WHERE namespace = ?1 AND type = ?2 AND key = ?3";
    let mut statement = state.prepare_cached(sql)?;
    let row = |row: &Row<'_>| {
        let owner = match (node(row, 1, 2)?, token(row, 3)?) {
            (Some(node), Some(token)) => Some((node, token)),
            _ => None,
        };
        Ok(PlacementRow { generation: generation(row, 0)?, owner })
    };
    statement.query_row([id.namespace(), id.actor_type(), id.key()], row).optional()
}

/// Determined by the tombstone, never by a deadline.
fn standing(leases: &Connection, namespace: &str, node: Incarnation) -> rusqlite::Result<Standing> {
    let sql = "SELECT dead FROM members WHERE incarnation = ?1 AND namespace = ?2";
    let mut statement = leases.prepare_cached(sql)?;
    let dead = statement.query_row(params![node.get(), namespace], |row| row.get::<_, bool>(0)).optional()?;
    Ok(match dead {
        None => Standing::Unknown,
        Some(false) => Standing::Alive,
        Some(true) => Standing::Dead,
    })
}

fn release(
    state: &Connection,
    id: &EntityId,
    generation: Generation,
) -> rusqlite::Result<Result<Reply, Fault>> {
    let sql = "UPDATE directory SET owner = NULL, address = NULL, token = NULL,
            change = (SELECT max(change) + 1 FROM directory)
        WHERE namespace = ?1 AND type = ?2 AND key = ?3 AND generation = ?4 AND owner IS NOT NULL";
    let id = (id.namespace(), id.actor_type(), id.key());
    let rows = state.prepare_cached(sql)?.execute(params![id.0, id.1, id.2, generation.get()])?;
    Ok(Ok(Reply::Released(rows == 1)))
}

fn open(
    state: &Connection,
    id: &EntityId,
    new: Generation,
    new_token: ClaimToken,
) -> rusqlite::Result<Result<Reply, Fault>> {
    let sql = "SELECT fence, token, etag, body FROM state WHERE namespace = ?1 AND type = ?2 AND key = ?3";
    let key = [id.namespace(), id.actor_type(), id.key()];
    let row = |row: &Row<'_>| {
        let fence = (generation(row, 0)?, ClaimToken::from_bytes(row.get(1)?));
        Ok((fence, Opened { etag: etag(row, 2)?, body: row.get::<_, Option<Vec<u8>>>(3)?.map(Bytes::from) }))
    };
    let row = state.prepare_cached(sql)?.query_row(key, row).optional()?;
    let (fence, opened) =
        row.map_or((None, Opened { etag: None, body: None }), |(fence, opened)| (Some(fence), opened));
    match decide::open(fence, new, new_token) {
        OpenDecision::Raise => {
            let sql = "INSERT INTO state (namespace, type, key, fence, token) VALUES (?1, ?2, ?3, ?4, ?5)
                ON CONFLICT (namespace, type, key) DO UPDATE SET fence = excluded.fence, token = excluded.token";
            let token = new_token.to_bytes();
            state.prepare_cached(sql)?.execute(params![key[0], key[1], key[2], new.get(), token])?;
        }
        OpenDecision::Repeat => {}
        OpenDecision::Fenced => {
            let fence = fence.map_or(0, |(fence, _)| fence.get());
            let text = format!("generation {new} is not higher than the fence {fence}");
            return Ok(Err(Fault::new(ErrorKind::Fenced, text)));
        }
    }
    Ok(Ok(Reply::Opened(opened)))
}

/// The condition is part of the statement, so a successful save needs no other. For a refused save
/// `decide::save` determines the reason.
fn write(
    state: &Connection,
    id: &EntityId,
    (generation, read, new): (Generation, Option<Etag>, Etag),
    body: Option<&[u8]>,
) -> rusqlite::Result<Result<Reply, Fault>> {
    let sql = "UPDATE state SET etag = ?5, body = ?6
        WHERE namespace = ?1 AND type = ?2 AND key = ?3 AND fence = ?4 AND etag IS ?7";
    let rows = state.prepare_cached(sql)?.execute(params![
        id.namespace(),
        id.actor_type(),
        id.key(),
        generation.get(),
        new.to_bytes(),
        body,
        read.map(Etag::to_bytes)
    ])?;
    if rows == 1 {
        return Ok(Ok(Reply::Written));
    }
    let sql = "SELECT fence, etag FROM state WHERE namespace = ?1 AND type = ?2 AND key = ?3";
    let key = [id.namespace(), id.actor_type(), id.key()];
    let row = |row: &Row<'_>| Ok((self::generation(row, 0)?, etag(row, 1)?));
    let row = state.prepare_cached(sql)?.query_row(key, row).optional()?;
    let refusal = match decide::save(row, generation, read) {
        Err(kind @ ErrorKind::Fenced) => {
            let fence = row.map_or(0, |(fence, _)| fence.get());
            Fault::new(kind, format!("the fence is {fence}, and the writer's generation {generation}"))
        }
        Err(kind) => kind.into(),
        Ok(()) => Fault::new(ErrorKind::Serialization, "the row matches, and was not updated"),
    };
    Ok(Err(refusal))
}

fn unowned(state: &Connection, nodes: &[Incarnation]) -> rusqlite::Result<Result<Reply, Fault>> {
    let mut statement = state.prepare_cached("SELECT 1 FROM directory WHERE owner = ?1 LIMIT 1")?;
    let mut unowned = Vec::new();
    for node in nodes {
        if !statement.exists([node.get()])? {
            unowned.push(*node);
        }
    }
    Ok(Ok(Reply::Unowned(unowned)))
}

/// Reads a generation from a row.
pub(crate) fn generation(row: &Row<'_>, column: usize) -> rusqlite::Result<Generation> {
    let number: u64 = row.get(column)?;
    Generation::new(number).ok_or_else(|| invalid(column))
}

/// Reads an incarnation from a row.
pub(crate) fn incarnation(row: &Row<'_>, column: usize) -> rusqlite::Result<Incarnation> {
    let number: u64 = row.get(column)?;
    Incarnation::new(number).ok_or_else(|| invalid(column))
}

/// Reads an etag from a row.
pub(crate) fn etag(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Etag>> {
    Ok(row.get::<_, Option<[u8; 16]>>(column)?.map(Etag::from_bytes))
}

/// Reads a node from a row; its address is in another column.
pub(crate) fn node(row: &Row<'_>, column: usize, address: usize) -> rusqlite::Result<Option<NodeId>> {
    let Some(_) = row.get::<_, Option<u64>>(column)? else { return Ok(None) };
    let incarnation = incarnation(row, column)?;
    Ok(Some(NodeId::new(&row.get::<_, String>(address)?, incarnation)))
}

fn token(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<ClaimToken>> {
    Ok(row.get::<_, Option<[u8; 16]>>(column)?.map(ClaimToken::from_bytes))
}

fn invalid(column: usize) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Integer, Box::new(FromSqlError::OutOfRange(0)))
}
