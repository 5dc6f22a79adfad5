//! Watches: a thread that polls for commits by any process.

use std::collections::HashMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use dactor_engine::{EntityId, Incarnation, MemberChange, NodeId, Placement, PlacementChange, Publisher};
use rusqlite::{Connection, Row};

use crate::requests::{generation, incarnation, node};

/// The polling interval.
const PAUSE: Duration = Duration::from_millis(20);

/// The watch thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Watcher {
    _stop: mpsc::Sender<()>,
}

impl Watcher {
    /// Starts the thread. Changes after this returns are reported.
    pub(crate) fn start(
        state: Connection,
        leases: Connection,
        placements: Publisher<PlacementChange>,
        members: Publisher<MemberChange>,
    ) -> rusqlite::Result<Self> {
        let max = "SELECT coalesce(max(change), 0) FROM directory";
        let last_change = state.query_row(max, (), |row| row.get(0))?;
        let known =
            read_members(&leases)?.into_iter().map(|member| (member.node.incarnation(), member.alive));
        let known = known.collect();
        let mut thread =
            WatcherThread { versions: (None, None), state, leases, placements, members, last_change, known };
        let (stop, stopped) = mpsc::channel();
        let body = move || {
            while stopped.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                // The database may be locked: the next poll finds the missed changes.
                let _ = thread.look();
            }
        };
        let spawned = thread::Builder::new().name("dactor-sqlite-watcher".into()).spawn(body);
        spawned.map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        Ok(Self { _stop: stop })
    }
}

struct WatcherThread {
    state: Connection,
    leases: Connection,
    placements: Publisher<PlacementChange>,
    members: Publisher<MemberChange>,
    /// The data versions of both files at the last complete poll.
    versions: (Option<i64>, Option<i64>),
    last_change: i64,
    known: HashMap<Incarnation, bool>,
}

impl WatcherThread {
    fn look(&mut self) -> rusqlite::Result<()> {
        let version = Some(data_version(&self.state)?);
        if version != self.versions.0 {
            self.look_at_placements()?;
            self.versions.0 = version;
        }
        let version = Some(data_version(&self.leases)?);
        if version != self.versions.1 {
            self.look_at_members()?;
            self.versions.1 = version;
        }
        Ok(())
    }

    fn look_at_placements(&mut self) -> rusqlite::Result<()> {
        let sql = "SELECT change, namespace, type, key, generation, owner, address FROM directory
            WHERE change > ?1 ORDER BY change";
        let mut statement = self.state.prepare_cached(sql)?;
        let mut rows = statement.query([self.last_change])?;
        while let Some(row) = rows.next()? {
            let text = |column| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
            let placement = Placement { generation: generation(row, 4)?, owner: node(row, 5, 6)? };
            if let Ok(id) = EntityId::new(text(1)?, text(2)?, text(3)?) {
                self.placements.publish(PlacementChange { id, placement });
            }
            self.last_change = row.get(0)?;
        }
        Ok(())
    }

    fn look_at_members(&mut self) -> rusqlite::Result<()> {
        for change in read_members(&self.leases)? {
            let before = self.known.insert(change.node.incarnation(), change.alive);
            if before == Some(change.alive) {
                continue;
            }
            if before.is_none() && !change.alive {
                // The node joined and died between two polls.
                self.members.publish(MemberChange { alive: true, ..change.clone() });
            }
            self.members.publish(change);
        }
        Ok(())
    }
}

/// A number that changes when another connection commits.
fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row((), |row| row.get(0))
}

fn read_members(leases: &Connection) -> rusqlite::Result<Vec<MemberChange>> {
    let mut statement = leases
        .prepare_cached("SELECT incarnation, address, namespace, dead FROM members ORDER BY incarnation")?;
    let member = |row: &Row<'_>| {
        let node = NodeId::new(&row.get::<_, String>(1)?, incarnation(row, 0)?);
        Ok(MemberChange { namespace: row.get(2)?, node, alive: !row.get::<_, bool>(3)? })
    };
    statement.query_map((), member)?.collect()
}
