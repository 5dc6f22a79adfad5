//! The leases in `lease.db`.

use std::sync::Arc;
use std::time::Duration;

use dactor_engine::decide::{self, JoinDecision, Lease};
use dactor_engine::{Clock, ErrorKind, Eviction, Incarnation, Member, NodeId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::alive::AliveLocks;
use crate::error::Fault;
use crate::machine::Machine;
use crate::requests::incarnation;

/// The number of tombstones kept although their nodes own nothing. They are pruned in bulk.
const KEPT_TOMBSTONES: i64 = 64;

/// The context of operations on leases.
#[derive(Debug)]
pub(crate) struct Leases {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) alive: Arc<AliveLocks>,
    pub(crate) machine: Machine,
}

struct MemberRow {
    node: NodeId,
    ttl: Duration,
    lease: Lease,
    machine: Machine,
}

const COLUMNS: &str = "incarnation, address, ttl, deadline, renewals, dead, boot, time_namespace";

impl MemberRow {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let lease = Lease { deadline: duration(row, 3)?, renewals: row.get(4)?, dead: row.get(5)? };
        let node = NodeId::new(&row.get::<_, String>(1)?, incarnation(row, 0)?);
        let machine = Machine { boot: row.get(6)?, time_namespace: row.get(7)? };
        Ok(Self { node, ttl: duration(row, 2)?, lease, machine })
    }

    fn find(connection: &Connection, node: &NodeId) -> rusqlite::Result<Option<Self>> {
        let sql = format!("SELECT {COLUMNS} FROM members WHERE incarnation = ?1");
        connection.prepare_cached(&sql)?.query_row([node.incarnation().get()], Self::from_row).optional()
    }
}

fn duration(row: &Row<'_>, column: usize) -> rusqlite::Result<Duration> {
    Ok(Duration::from_nanos(row.get(column)?))
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// Runs a write transaction. An error rolls it back.
fn transaction<T>(
    connection: &mut Connection,
    body: impl FnOnce(&Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let result = body(&transaction)?;
    transaction.commit().map_err(|error| Fault::from(error).into_unknown())?;
    Ok(result)
}

/// Runs a write transaction that is synced to disk when it returns.
fn synced<T>(
    connection: &mut Connection,
    body: impl FnOnce(&Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    connection.pragma_update(None, "synchronous", "FULL")?;
    let result = transaction(connection, body);
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    result
}

impl Leases {
    /// Whether the process of the node has provably ended.
    fn is_gone(&self, row: &MemberRow) -> bool {
        row.machine.boot != self.machine.boot || self.alive.is_gone(row.node.incarnation())
    }

    pub(crate) fn join(
        &self,
        connection: &mut Connection,
        namespace: &str,
        node: &NodeId,
        ttl: Duration,
    ) -> Result<(), Fault> {
        // Locked before the row exists, so that a row with an unlocked file is a proof.
        let locked = self.alive.hold(node.incarnation()).map_err(|error| {
            Fault::new(ErrorKind::Unavailable, format!("the file of the node cannot be locked: {error}"))
        })?;
        let joined = synced(connection, |transaction| {
            let now = self.clock.now();
            let row = MemberRow::find(transaction, node)?;
            match decide::join(row.as_ref().map(|row| &row.lease), now) {
                JoinDecision::Insert => {
                    self.check_time_namespace(transaction)?;
                    self.insert(transaction, namespace, node, ttl, now)
                }
                JoinDecision::Renew => prolong(transaction, node, now),
                JoinDecision::Refuse => {
                    Err(Fault::new(ErrorKind::Fenced, "the lease of this incarnation is lost"))
                }
            }
        });
        if joined.is_err() && locked {
            self.alive.forget(node.incarnation());
        }
        joined
    }

    /// Checks that all processes share a time namespace: it shifts the boot clock, which would make the
    /// deadlines of other processes meaningless.
    fn check_time_namespace(&self, connection: &Connection) -> Result<(), Fault> {
        let sql =
            format!("SELECT {COLUMNS} FROM members WHERE NOT dead AND boot = ?1 AND time_namespace <> ?2");
        let mut statement = connection.prepare_cached(&sql)?;
        let parameters = [&self.machine.boot, &self.machine.time_namespace];
        for row in statement.query_map(parameters, MemberRow::from_row)? {
            let row = row?;
            if !self.is_gone(&row) {
                let text = format!("{} is in another time namespace, where the boot clock differs", row.node);
                return Err(Fault::new(ErrorKind::Unavailable, text).permanent());
            }
        }
        Ok(())
    }

    fn insert(
        &self,
        connection: &Connection,
        namespace: &str,
        node: &NodeId,
        ttl: Duration,
        now: Duration,
    ) -> Result<(), Fault> {
        let sql = "INSERT INTO members
            (incarnation, namespace, address, ttl, deadline, renewals, dead, boot, time_namespace)
            VALUES (?1, ?2, ?3, ?4, ?5, 0, FALSE, ?6, ?7)";
        connection.prepare_cached(sql)?.execute(params![
            node.incarnation().get(),
            namespace,
            node.address(),
            nanoseconds(ttl),
            nanoseconds(now.saturating_add(ttl)),
            self.machine.boot,
            self.machine.time_namespace
        ])?;
        Ok(())
    }

    pub(crate) fn renew(&self, connection: &mut Connection, node: &NodeId) -> Result<(), Fault> {
        transaction(connection, |transaction| {
            // Read under the lock, so that the time spent waiting for it counts.
            let now = self.clock.now();
            let row = MemberRow::find(transaction, node)?;
            if decide::renew(row.as_ref().map(|row| &row.lease), now) {
                prolong(transaction, node, now)
            } else {
                Err(ErrorKind::Fenced.into())
            }
        })
    }

    pub(crate) fn evict(
        &self,
        connection: &mut Connection,
        node: &NodeId,
        seen: u64,
    ) -> Result<Eviction, Fault> {
        let eviction = synced(connection, |transaction| {
            let row = MemberRow::find(transaction, node)?;
            let gone = row.as_ref().is_some_and(|row| self.is_gone(row));
            let lease = row.as_ref().map(|row| &row.lease);
            let eviction = decide::evict(lease, seen, gone, self.clock.now());
            if eviction == Eviction::Recorded {
                record_death(transaction, node)?;
            }
            Ok(eviction)
        })?;
        if eviction == Eviction::Recorded {
            self.alive.forget(node.incarnation());
        }
        Ok(eviction)
    }

    pub(crate) fn leave(&self, connection: &mut Connection, node: &NodeId) -> Result<(), Fault> {
        synced(connection, |transaction| record_death(transaction, node))?;
        self.alive.forget(node.incarnation());
        Ok(())
    }

    pub(crate) fn members(&self, connection: &Connection, namespace: &str) -> Result<Vec<Member>, Fault> {
        let sql = format!("SELECT {COLUMNS} FROM members WHERE namespace = ?1 ORDER BY incarnation");
        let mut statement = connection.prepare_cached(&sql)?;
        let rows = statement.query_map([namespace], MemberRow::from_row)?;
        let now = self.clock.now();
        let member = |row: MemberRow| {
            let gone = !row.lease.dead && self.is_gone(&row);
            Member {
                ttl: row.ttl,
                renewals: row.lease.renewals,
                remaining: row.lease.deadline.saturating_sub(now),
                state: decide::member_state(&row.lease, gone, now),
                node: row.node,
            }
        };
        Ok(rows.map(|row| row.map(member)).collect::<rusqlite::Result<_>>()?)
    }

    /// The dead nodes, if there are enough of them to prune.
    pub(crate) fn prunable(connection: &Connection) -> Result<Vec<Incarnation>, Fault> {
        let dead: i64 = connection
            .prepare_cached("SELECT count(*) FROM members WHERE dead")?
            .query_row((), |row| row.get(0))?;
        if dead <= KEPT_TOMBSTONES {
            return Ok(Vec::new());
        }
        let mut statement =
            connection.prepare_cached("SELECT incarnation FROM members WHERE dead LIMIT 1000")?;
        Ok(statement.query_map((), |row| incarnation(row, 0))?.collect::<rusqlite::Result<_>>()?)
    }

    /// Removes dead nodes that own nothing. A dead node cannot become an owner.
    pub(crate) fn prune(connection: &mut Connection, nodes: &[Incarnation]) -> Result<(), Fault> {
        transaction(connection, |transaction| {
            let mut statement =
                transaction.prepare_cached("DELETE FROM members WHERE incarnation = ?1 AND dead")?;
            for node in nodes {
                statement.execute([node.get()])?;
            }
            Ok(())
        })
    }
}

fn prolong(connection: &Connection, node: &NodeId, now: Duration) -> Result<(), Fault> {
    // Beyond the range of an integer SQLite would switch to floating point.
    let sql =
        "UPDATE members SET deadline = min(?2, 9223372036854775807 - ttl) + ttl, renewals = renewals + 1
        WHERE incarnation = ?1";
    connection.prepare_cached(sql)?.execute(params![node.incarnation().get(), nanoseconds(now)])?;
    Ok(())
}

fn record_death(connection: &Connection, node: &NodeId) -> Result<(), Fault> {
    let sql = "UPDATE members SET dead = TRUE WHERE incarnation = ?1";
    connection.prepare_cached(sql)?.execute([node.incarnation().get()])?;
    Ok(())
}
