//! The task for saves with statements of the application.

use std::sync::Arc;

use tokio::runtime::Handle;

use crate::pool::Pool;
use crate::queue::{Batches, Item};
use crate::statements::Statements;
use crate::transaction::{Failure, SaveWith, save_alone, save_together};

/// The task. It ends when the sending side of its queue is dropped.
#[derive(Debug)]
pub(crate) struct SqlSaver {
    pub(crate) batches: Batches<SaveWith>,
    /// A dedicated connection, for transactions with several saves.
    pub(crate) own: Pool,
    /// The pool for saves with their own transactions.
    pub(crate) shared: Arc<Pool>,
    pub(crate) statements: Arc<Statements>,
    pub(crate) runtime: Handle,
}

impl SqlSaver {
    pub(crate) async fn run(mut self) {
        while let Some(batch) = self.batches.next().await {
            if !batch.is_empty() {
                self.save(batch).await;
            }
        }
    }

    async fn save(&self, batch: Vec<Item<SaveWith>>) {
        let mut connection = match self.own.get().await {
            Ok(connection) => connection,
            Err(fault) => return batch.into_iter().for_each(|item| item.answer(Err(fault.clone()))),
        };
        let entries: Vec<SaveWith> = batch.iter().map(|item| item.entry.clone()).collect();
        match save_together(&mut connection, &self.statements, &entries).await {
            Ok(()) => batch.into_iter().for_each(|item| item.answer(Ok(()))),
            Err(Failure::All(fault)) => {
                batch.into_iter().for_each(|item| item.answer(Err(fault.clone())));
            }
            // One save was refused or failed. Retried on other connections, so that the next batch does not
            // wait.
            Err(Failure::Of) => batch.into_iter().for_each(|item| self.alone(item)),
        }
    }

    fn alone(&self, item: Item<SaveWith>) {
        let (pool, statements) = (self.shared.clone(), self.statements.clone());
        self.runtime.spawn(async move {
            let result = match pool.get().await {
                Ok(mut connection) => save_alone(&mut connection, &statements, &item.entry).await,
                Err(fault) => Err(fault),
            };
            item.answer(result);
        });
    }
}
