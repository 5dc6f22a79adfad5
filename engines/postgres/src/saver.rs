//! The task that saves: writes all queued saves with one statement.

use std::sync::Arc;

use bytes::Bytes;
use dactor_engine::{EntityId, ErrorKind, Etag, Generation, decide};
use tokio_postgres::Row;

use crate::connection::{Connection, Parameters};
use crate::error::{Effect, Fault};
use crate::pool::Pool;
use crate::queue::{Batches, Entry, Item};
use crate::statements::Statements;
use crate::values::{Uuid, etag, generation, int8, number};

/// How often a save is retried when the row changed between the refusal and the lookup of its reason.
const ATTEMPTS: usize = 5;

/// The fence and the etag of a state.
type FenceRow = (Generation, Option<Etag>);

/// A save; a clear if it has no body.
#[derive(Debug, Clone)]
pub(crate) struct Save {
    pub(crate) id: EntityId,
    pub(crate) generation: Generation,
    pub(crate) read: Option<Etag>,
    pub(crate) new: Etag,
    pub(crate) body: Option<Bytes>,
}

impl Entry for Save {
    fn id(&self) -> &EntityId {
        &self.id
    }

    fn length(&self) -> usize {
        self.body.as_ref().map_or(0, Bytes::len)
    }
}

impl Save {
    /// Why the current row refuses the save; `None` if it would accept it.
    pub(crate) fn refusal(&self, row: Option<&FenceRow>) -> Option<Fault> {
        match decide::save(row.copied(), self.generation, self.read) {
            Ok(()) => None,
            Err(kind @ ErrorKind::Fenced) => {
                let fence = row.map_or(0, |(fence, _)| fence.get());
                let text = format!("the fence is {fence}, and the writer's generation {}", self.generation);
                Some(Fault::new(kind, text))
            }
            Err(kind) => Some(kind.into()),
        }
    }
}

/// The task. It ends when the sending side of its queue is dropped.
#[derive(Debug)]
pub(crate) struct Saver {
    pub(crate) batches: Batches<Save>,
    pub(crate) pool: Pool,
    pub(crate) statements: Arc<Statements>,
}

impl Saver {
    pub(crate) async fn run(mut self) {
        while let Some(batch) = self.batches.next().await {
            if !batch.is_empty() {
                self.save(batch).await;
            }
        }
    }

    async fn save(&self, batch: Vec<Item<Save>>) {
        let mut connection = match self.pool.get().await {
            Ok(connection) => connection,
            Err(fault) => return batch.into_iter().for_each(|item| item.answer(Err(fault.clone()))),
        };
        if batch.len() > 1 {
            match self.save_many(&mut connection, &batch).await {
                Ok(answers) => {
                    for (item, answer) in batch.into_iter().zip(answers) {
                        let answer = match answer {
                            Some(answer) => answer,
                            None => save_one(&mut connection, &self.statements, &item.entry).await,
                        };
                        item.answer(answer);
                    }
                    return;
                }
                // A deadlock or a rejected value: caused by one of the saves.
                Err(fault) if fault.was_rolled_back() => {}
                Err(fault) => return batch.into_iter().for_each(|item| item.answer(Err(fault.clone()))),
            }
        }
        for item in batch {
            let answer = if connection.is_usable() {
                save_one(&mut connection, &self.statements, &item.entry).await
            } else {
                Err(Fault::new(ErrorKind::Unavailable, "the connection was lost before this save"))
            };
            item.answer(answer);
        }
    }

    /// Saves in one statement. `None` for a refused save that the row would accept now.
    async fn save_many(
        &self,
        connection: &mut Connection,
        batch: &[Item<Save>],
    ) -> Result<Vec<Option<Result<(), Fault>>>, Fault> {
        let column =
            |field: fn(&Save) -> &str| batch.iter().map(|item| field(&item.entry)).collect::<Vec<_>>();
        let namespaces = column(|save| save.id.namespace());
        let types = column(|save| save.id.actor_type());
        let keys = column(|save| save.id.key());
        let fences: Vec<i64> = batch.iter().map(|item| int8(item.entry.generation.get())).collect();
        let read: Vec<Option<Uuid>> = batch.iter().map(|item| item.entry.read.map(Uuid::from)).collect();
        let new: Vec<Uuid> = batch.iter().map(|item| Uuid::from(item.entry.new)).collect();
        let bodies: Vec<Option<&[u8]>> = batch.iter().map(|item| item.entry.body.as_deref()).collect();
        let rows = connection
            .query(
                &self.statements.save_many,
                &[&namespaces, &types, &keys, &fences, &read, &new, &bodies],
                Effect::Write,
            )
            .await?;
        let mut answers: Vec<Option<Result<(), Fault>>> = vec![None; batch.len()];
        for row in &rows {
            if let Some(answer) = answers.get_mut(position(row)?) {
                *answer = Some(Ok(()));
            }
        }
        if rows.len() == batch.len() {
            return Ok(answers);
        }
        // The other saves are committed, even if this lookup fails.
        let keys: Parameters<'_> = &[&namespaces, &types, &keys];
        let stored = connection.query(&self.statements.stored, keys, Effect::Read).await;
        let found = match stored.and_then(|rows| found(&rows, batch.len())) {
            Ok(found) => found,
            Err(fault) => {
                answers.iter_mut().for_each(|answer| {
                    answer.get_or_insert_with(|| Err(fault.clone()));
                });
                return Ok(answers);
            }
        };
        for ((answer, item), row) in answers.iter_mut().zip(batch).zip(&found) {
            if answer.is_none() {
                *answer = item.entry.refusal(row.as_ref()).map(Err);
            }
        }
        Ok(answers)
    }
}

/// The current rows of a batch.
fn found(rows: &[Row], length: usize) -> Result<Vec<Option<FenceRow>>, Fault> {
    let mut found = vec![None; length];
    for row in rows {
        if let Some(entry) = found.get_mut(position(row)?) {
            *entry = Some((generation(row, 1)?, etag(row, 2)?));
        }
    }
    Ok(found)
}

/// The array position of a row. `WITH ORDINALITY` counts from one.
fn position(row: &Row) -> Result<usize, Fault> {
    let number = number(row, 0)?;
    Ok(usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1))
}

/// Saves with a single statement.
async fn save_one(connection: &mut Connection, statements: &Statements, save: &Save) -> Result<(), Fault> {
    let Save { id, generation: fence, read, new, body } = save;
    let (read, new, fence) = (read.map(Uuid::from), Uuid::from(*new), int8(fence.get()));
    let (namespace, actor_type, key) = (id.namespace(), id.actor_type(), id.key());
    for _ in 0..ATTEMPTS {
        let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
            [&namespace, &actor_type, &key, &fence, &read, &new, &body.as_deref()];
        if connection.changes(&statements.save, &parameters).await? {
            return Ok(());
        }
        let rows = connection.query(&statements.fence, &parameters[..3], Effect::Read).await?;
        let row = match rows.first() {
            Some(row) => Some((generation(row, 0)?, etag(row, 1)?)),
            None => None,
        };
        if let Some(refusal) = save.refusal(row.as_ref()) {
            return Err(refusal);
        }
    }
    Err(Fault::new(ErrorKind::Unavailable, "the row changed during every attempt"))
}
