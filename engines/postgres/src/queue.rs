//! The request queue of a task that processes batches.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use dactor_engine::{EntityId, ErrorKind};
use tokio::sync::{mpsc, oneshot};

use crate::error::Fault;

/// The capacity of the queue, in requests.
const QUEUE: usize = 4096;

/// The maximum size of a batch in bytes, unless a single request is larger.
const BATCH_BYTES: usize = 8 << 20;

/// A request that can be in a batch.
pub(crate) trait Entry {
    /// The entity: a batch contains at most one request for it.
    fn id(&self) -> &EntityId;

    /// The size in bytes.
    fn length(&self) -> usize;
}

/// A request with its response channel.
#[derive(Debug)]
pub(crate) struct Item<T> {
    pub(crate) entry: T,
    answer: oneshot::Sender<Result<(), Fault>>,
}

impl<T> Item<T> {
    pub(crate) fn answer(self, result: Result<(), Fault>) {
        // Fails if the caller has given up.
        let _ = self.answer.send(result);
    }
}

/// The sending side.
#[derive(Debug)]
pub(crate) struct Requests<T> {
    queue: mpsc::Sender<Item<T>>,
    limit: Duration,
}

/// A queue with at most `batch` requests in a batch, for a task that needs up to `timeout` for a batch.
pub(crate) fn queue<T>(batch: usize, timeout: Duration) -> (Requests<T>, Batches<T>) {
    let (sender, receiver) = mpsc::channel(QUEUE);
    // Long enough for the current batch and the next one.
    let limit = 2 * timeout + Duration::from_secs(2);
    (Requests { queue: sender, limit }, Batches { queue: receiver, batch, waiting: VecDeque::new() })
}

impl<T> Requests<T> {
    /// Sends a request, and waits for its commit.
    pub(crate) async fn run(&self, entry: T) -> Result<(), Fault> {
        let (answer, answered) = oneshot::channel();
        let (limit, stopped) = (self.limit, "the task that saves has ended");
        match tokio::time::timeout(limit, self.queue.send(Item { entry, answer })).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Err(Fault::new(ErrorKind::Unavailable, stopped).permanent()),
            Err(_) => {
                return Err(Fault::new(
                    ErrorKind::Unavailable,
                    format!("{QUEUE} saves waited for {limit:?}"),
                ));
            }
        }
        match tokio::time::timeout(limit, answered).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Fault::new(ErrorKind::UnknownOutcome, stopped)),
            Err(_) => Err(Fault::new(ErrorKind::UnknownOutcome, format!("no answer after {limit:?}"))),
        }
    }
}

/// The receiving side.
#[derive(Debug)]
pub(crate) struct Batches<T> {
    queue: mpsc::Receiver<Item<T>>,
    batch: usize,
    /// Requests deferred to the next batch, because their entities are in this one.
    waiting: VecDeque<Item<T>>,
}

impl<T: Entry> Batches<T> {
    /// Takes all queued requests, at most one for each entity. Does not wait for more: they were gathered
    /// while the last batch was running.
    pub(crate) async fn next(&mut self) -> Option<Vec<Item<T>>> {
        let mut arrived = std::mem::take(&mut self.waiting);
        if arrived.is_empty() {
            arrived.push_back(self.queue.recv().await?);
        }
        while arrived.len() < self.batch {
            match self.queue.try_recv() {
                Ok(item) => arrived.push_back(item),
                Err(_) => break,
            }
        }
        let (mut batch, mut entities, mut bytes) = (Vec::with_capacity(arrived.len()), HashSet::new(), 0);
        for item in arrived {
            // The caller has given up.
            if item.answer.is_closed() {
                continue;
            }
            let length = item.entry.length();
            let full = batch.len() == self.batch || (!batch.is_empty() && bytes + length > BATCH_BYTES);
            if full || !entities.insert(item.entry.id().clone()) {
                self.waiting.push_back(item);
            } else {
                bytes += length;
                batch.push(item);
            }
        }
        Some(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Save(EntityId, usize);

    impl Entry for Save {
        fn id(&self) -> &EntityId {
            &self.0
        }

        fn length(&self) -> usize {
            self.1
        }
    }

    #[tokio::test]
    async fn a_batch_has_an_entity_once_and_is_limited() {
        let (requests, mut batches) = queue(4, Duration::from_secs(1));
        let send = |key: &str, length| {
            let (answer, answered) = oneshot::channel();
            let entry = Save(EntityId::new("n", "t", key).unwrap(), length);
            requests.queue.try_send(Item { entry, answer }).unwrap();
            answered
        };
        let mut kept = Vec::new();
        for (key, length) in [("a", 1), ("b", 1), ("a", 2), ("large", 7 << 20), ("c", 2 << 20), ("d", 1)] {
            kept.push(send(key, length));
        }
        drop(send("given up", 1));
        let mut next = async || {
            let batch = batches.next().await.unwrap();
            batch.into_iter().map(|item| (item.entry.0.key().to_owned(), item.entry.1)).collect::<Vec<_>>()
        };
        assert_eq!(next().await, [("a".into(), 1), ("b".into(), 1), ("large".into(), 7 << 20)]);
        assert_eq!(next().await, [("a".into(), 2), ("c".into(), 2 << 20), ("d".into(), 1)]);
    }
}
