//! Watches: a task that polls for changes by any process.
//!
//! `LISTEN` would miss changes while its connection is lost, and `NOTIFY` serializes commits. Polling by
//! transaction id misses nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use dactor_engine::{
    EntityId, ErrorKind, Incarnation, MemberChange, NodeId, Placement, PlacementChange, Publisher,
};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::error::{Effect, Fault};
use crate::pool::Pool;
use crate::statements::Statements;
use crate::values::{generation, get, incarnation, node};

/// The polling interval.
const PAUSE: Duration = Duration::from_millis(50);

/// The watch task, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Watcher {
    task: AbortHandle,
}

impl Watcher {
    /// Starts the task. Changes after this returns are reported.
    pub(crate) async fn start(
        runtime: &Handle,
        pool: Pool,
        statements: Arc<Statements>,
        placements: Publisher<PlacementChange>,
        members: Publisher<MemberChange>,
    ) -> Result<Self, Fault> {
        let mut looking = Looking {
            pool,
            statements,
            placements,
            members,
            first: String::new(),
            reported: HashMap::new(),
            known: HashMap::new(),
        };
        looking.begin().await?;
        let task = async move {
            loop {
                tokio::time::sleep(PAUSE).await;
                // The server may be unavailable: the next poll finds the missed changes.
                let _ = looking.look().await;
            }
        };
        Ok(Self { task: runtime.spawn(task).abort_handle() })
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Looking {
    pool: Pool,
    statements: Arc<Statements>,
    placements: Publisher<PlacementChange>,
    members: Publisher<MemberChange>,
    /// All transactions before this one were finished at the last poll.
    first: String,
    /// Reported placements of later transactions, which the next poll finds again.
    reported: HashMap<EntityId, Placement>,
    known: HashMap<Incarnation, bool>,
}

impl Looking {
    async fn begin(&mut self) -> Result<(), Fault> {
        let mut connection = self.pool.get().await?;
        let sql = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text";
        let rows = connection.query(sql, &[], Effect::Read).await?;
        let row = rows.first().ok_or_else(no_row)?;
        self.first = get::<&str>(row, 0)?.to_owned();
        drop(connection);
        self.look_at_placements(false).await?;
        self.look_at_members(false).await
    }

    async fn look(&mut self) -> Result<(), Fault> {
        self.look_at_placements(true).await?;
        self.look_at_members(true).await
    }

    async fn look_at_placements(&mut self, report: bool) -> Result<(), Fault> {
        let mut connection = self.pool.get().await?;
        let sql = &self.statements.placed_since;
        let rows = connection.query(sql, &[&self.first], Effect::Read).await?;
        let mut reported = HashMap::new();
        for row in &rows {
            let Some(again) = get::<Option<bool>>(row, 1)? else { continue };
            let Ok(id) = EntityId::new(get(row, 2)?, get(row, 3)?, get(row, 4)?) else { continue };
            let placement = Placement { generation: generation(row, 5)?, owner: node(row, 6, 7)? };
            if report && self.reported.get(&id) != Some(&placement) {
                self.placements.publish(PlacementChange { id: id.clone(), placement: placement.clone() });
            }
            if again {
                reported.insert(id, placement);
            }
        }
        self.first = get::<&str>(rows.first().ok_or_else(no_row)?, 0)?.to_owned();
        self.reported = reported;
        Ok(())
    }

    async fn look_at_members(&mut self, report: bool) -> Result<(), Fault> {
        let mut connection = self.pool.get().await?;
        let rows = connection.query(&self.statements.all_members, &[], Effect::Read).await?;
        let mut known = HashMap::with_capacity(rows.len());
        for row in &rows {
            let (incarnation, alive) = (incarnation(row, 0)?, !get::<bool>(row, 3)?);
            let before = self.known.get(&incarnation).copied();
            known.insert(incarnation, alive);
            if !report || before == Some(alive) {
                continue;
            }
            let node = NodeId::new(get(row, 1)?, incarnation);
            let change = MemberChange { namespace: get(row, 2)?, node, alive };
            if before.is_none() && !alive {
                // The node joined and died between two polls.
                self.members.publish(MemberChange { alive: true, ..change.clone() });
            }
            self.members.publish(change);
        }
        self.known = known;
        Ok(())
    }
}

fn no_row() -> Fault {
    Fault::new(ErrorKind::Serialization, "the statement returned no row")
}
