//! Leases, on the clock of the server.

use std::time::Duration;

use dactor_engine::{ErrorKind, Eviction, Member, MemberState, NodeId};
use tokio_postgres::Row;

use crate::connection::Connection;
use crate::error::{Effect, Fault};
use crate::statements::Statements;
use crate::values::{get, incarnation, int8, number};

/// A longer TTL is clamped to a thousand years, which PostgreSQL can add to a timestamp.
const LONGEST: u64 = 1000 * 365 * 86_400 * 1_000_000;

fn microseconds(ttl: Duration) -> i64 {
    int8(u64::try_from(ttl.as_micros()).unwrap_or(u64::MAX).min(LONGEST))
}

pub(crate) async fn join(
    connection: &mut Connection,
    statements: &Statements,
    namespace: &str,
    node: &NodeId,
    ttl: Duration,
) -> Result<(), Fault> {
    let (incarnation, address) = (int8(node.incarnation().get()), node.address());
    let parameters = (&incarnation, &namespace, &address, &microseconds(ttl));
    let joined = connection
        .changes(&statements.join, &[parameters.0, parameters.1, parameters.2, parameters.3])
        .await?;
    if joined { Ok(()) } else { Err(Fault::new(ErrorKind::Fenced, "the lease of this incarnation is lost")) }
}

pub(crate) async fn renew(
    connection: &mut Connection,
    statements: &Statements,
    node: &NodeId,
) -> Result<(), Fault> {
    if connection.changes(&statements.renew, &[&int8(node.incarnation().get())]).await? {
        Ok(())
    } else {
        Err(ErrorKind::Fenced.into())
    }
}

pub(crate) async fn evict(
    connection: &mut Connection,
    statements: &Statements,
    node: &NodeId,
    seen: u64,
) -> Result<Eviction, Fault> {
    let incarnation = int8(node.incarnation().get());
    if connection.changes(&statements.evict, &[&incarnation, &int8(seen)]).await? {
        return Ok(Eviction::Recorded);
    }
    let rows = connection.query(&statements.is_dead, &[&incarnation], Effect::Read).await?;
    match rows.first() {
        None => Ok(Eviction::Unknown),
        Some(row) if get(row, 0)? => Ok(Eviction::AlreadyDead),
        Some(_) => Ok(Eviction::Alive),
    }
}

pub(crate) async fn leave(
    connection: &mut Connection,
    statements: &Statements,
    node: &NodeId,
) -> Result<(), Fault> {
    connection.changes(&statements.leave, &[&int8(node.incarnation().get())]).await.map(drop)
}

pub(crate) async fn members(
    connection: &mut Connection,
    statements: &Statements,
    namespace: &str,
) -> Result<Vec<Member>, Fault> {
    let rows = connection.query(&statements.members, &[&namespace], Effect::Read).await?;
    rows.iter().map(member).collect()
}

fn member(row: &Row) -> Result<Member, Fault> {
    let (dead, overdue) = (get::<bool>(row, 4)?, get::<bool>(row, 5)?);
    // The end of a process on another machine cannot be proven.
    let state = match (dead, overdue) {
        (true, _) => MemberState::Dead,
        (false, true) => MemberState::Overdue,
        (false, false) => MemberState::Alive,
    };
    Ok(Member {
        node: NodeId::new(get(row, 1)?, incarnation(row, 0)?),
        ttl: Duration::from_micros(number(row, 2)?),
        renewals: number(row, 3)?,
        remaining: Duration::from_micros(number(row, 6)?),
        state,
    })
}
